//! Is a page whole, and nothing in it but data?
