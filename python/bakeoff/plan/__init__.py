"""From a TOML file to a list of cells, each fully decided. Nothing here starts anything. In the order of use:

units      "10s", "0.1%", "5k/s" to numbers and back
document   what a plan may say: the models of its tables
nearest    one clear sentence out of whatever is wrong with it
factors    what varies, and where in a system or workload its levels go
grid       every combination of systems, workloads and levels
expand     every combination of levels, as cells
check      combinations that cannot be run
data       where the data of each run come from
read       all of the above: `read_plan`
describe   what a run of the plan would do and cost: the dry run
tables     the plan's tables on existing systems
"""
