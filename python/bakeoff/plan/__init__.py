"""From a TOML file to a list of cells, each fully decided. Nothing here starts anything. In the order of use:

document         a plan's text as models of its tables; where a thing was said, and one sentence for each that is wrong
routing          which nodes of a system users go to
factors          what varies, and where in a system or workload its levels go
grid             every combination of systems, workloads and levels, and the part of them that is wanted (`--only`)
workload         the plan's workloads, decided by the engine
cells            every combination of levels, as cells with their ids
check            combinations and faults that cannot be run
data             where the data of each run come from
machines         what is needed of this machine and of load machines; which builds of servers are taken
comparison       what is compared, by which metrics, and what limits the answer
search           the levels that a search tries
read             all of the above: `read_plan`, which returns what `resolved` holds
several_plans    several plans as one comparison
existing_tables  the plan's tables on existing systems
dry_run          what a run of the plan would do and cost
new_plan         texts of plans: out of a few words, and a first one to be changed
"""
