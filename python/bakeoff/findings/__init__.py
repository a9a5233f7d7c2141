"""From a bundle to findings: what it says, as data, each finding with its evidence and a clause of words.

Sentences, tables and pictures are made of them in `report`; plans and schedules need no more than this.
"""
