//! Does the tool agree with the real SYCL runtime about real libraries, and does that runtime run what it wrote?
//!
//! The libraries are those of dpctl, dpnp and oneMKL; the runtime is libsycl on the Intel CPU driver. All come from
//! `tests/real/fetch.py`, once, by version and hash; without them these tests fail. The judges are not the tool's own
//! code: the runtime's dumps, a reader in Python over the memory of a process, dpnp's test programs, elfutils, LLVM.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, reason = "measured times are worth a look and prove nothing")]

mod archives;
mod aspects;
mod browser;
mod build_systems;
mod cache;
mod changed;
mod compiler;
mod completion;
mod corpus;
mod corpus_aspects;
mod corpus_warnings;
mod diff;
mod drivers;
mod embed;
mod embed_tools;
mod explain;
mod files;
mod fixtures;
mod fold;
mod images;
mod installation;
mod instructions;
mod interrupted;
mod judges;
mod kernels;
mod launched;
mod link;
mod march;
mod numbers;
mod nvidia;
mod ocloc;
mod ocloc_versions;
mod operands;
mod packages;
mod page;
mod pages;
mod pe_tools;
mod peers;
mod pip;
mod pocl;
mod probe;
mod props;
mod prune;
mod recipes;
mod record;
mod records;
mod releases;
mod relink;
mod relink_dpnp;
mod schemas;
mod simulated;
mod slurm;
mod specialize;
mod spirv_val;
mod split;
mod split_groups;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod tasks;
mod tool;
mod trace;
mod unstable;
mod verdicts;
mod world;
mod wrap;
mod wrap_cross;
mod wrap_llvm;
mod wrap_objects;
