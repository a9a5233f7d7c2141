"""Bundles compared with bundles: `matching` finds the cells that are the same, `conditions` what else differs,
`comparison` judges. Searches are compared by what they found (`capacities`), or with runs at fixed levels
(`search_check`); `both_sides` is a bundle made of two sides, for charts and pages.
"""
