//! Is a page usable: does a person who filters, sorts, clicks, hovers and presses keys see what there is?
//!
//! Pages are made by the program from modules made here, and opened by a browser. What is expected stands in no script of
//! the page: counts and names come from the modules, verdicts from `check`.

mod hostile;
mod large;
mod people;
mod policy;
mod read;
mod two_builds;
