mod expressions;
mod programs;
mod refusals;
