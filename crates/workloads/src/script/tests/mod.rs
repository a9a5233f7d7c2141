mod expressions;
mod programs;
