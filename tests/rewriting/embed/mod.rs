//! Does a rewritten file show the runtime what it showed before, and the added images after it?

mod again;
mod bytes;
mod copies;
mod forms;
mod limits;
mod own;
mod process;
mod prune;
mod running;
mod stripped;
mod turns;
