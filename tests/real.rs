//! Does the tool agree with the real SYCL runtime about real libraries, and does that runtime run what it wrote?
//!
//! The libraries are those of dpctl, dpnp and oneMKL; the runtime is libsycl on the Intel CPU driver. All come from
//! `tests/real/fetch.py`, once, by version and hash; without them these tests fail. The judges are not the tool's own
//! code: the runtime's dumps, a reader in Python over the memory of a process, dpnp's test programs, elfutils, LLVM.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, reason = "measured times are worth a look and prove nothing")]

mod support;

#[path = "real/aspects.rs"]
mod aspects;
#[path = "real/build_systems.rs"]
mod build_systems;
#[path = "real/cache.rs"]
mod cache;
#[path = "real/compiler.rs"]
mod compiler;
#[path = "real/completion.rs"]
mod completion;
#[path = "real/corpus.rs"]
mod corpus;
#[path = "real/corpus_aspects.rs"]
mod corpus_aspects;
#[path = "real/corpus_warnings.rs"]
mod corpus_warnings;
#[path = "real/diff.rs"]
mod diff;
#[path = "real/embed.rs"]
mod embed;
#[path = "real/explain.rs"]
mod explain;
#[path = "real/files.rs"]
mod files;
#[path = "real/fold.rs"]
mod fold;
#[path = "real/images.rs"]
mod images;
#[path = "real/installation.rs"]
mod installation;
#[path = "real/interrupted.rs"]
mod interrupted;
#[path = "real/judges.rs"]
mod judges;
#[path = "real/kernels.rs"]
mod kernels;
#[path = "real/link.rs"]
mod link;
#[path = "real/march.rs"]
mod march;
#[path = "real/numbers.rs"]
mod numbers;
#[path = "real/ocloc.rs"]
mod ocloc;
#[path = "real/ocloc_versions.rs"]
mod ocloc_versions;
#[path = "real/operands.rs"]
mod operands;
#[path = "real/page.rs"]
mod page;
#[path = "real/peers.rs"]
mod peers;
#[path = "real/pip.rs"]
mod pip;
#[path = "real/probe.rs"]
mod probe;
#[path = "real/props.rs"]
mod props;
#[path = "real/prune.rs"]
mod prune;
#[path = "real/recipes.rs"]
mod recipes;
#[path = "real/records.rs"]
mod records;
#[path = "real/releases.rs"]
mod releases;
#[path = "real/relink.rs"]
mod relink;
#[path = "real/relink_dpnp.rs"]
mod relink_dpnp;
#[path = "real/slurm.rs"]
mod slurm;
#[path = "real/specialize.rs"]
mod specialize;
#[path = "real/spirv_val.rs"]
mod spirv_val;
#[path = "real/split.rs"]
mod split;
#[path = "real/split_groups.rs"]
mod split_groups;
#[path = "real/targets.rs"]
mod targets;
#[path = "real/tasks.rs"]
mod tasks;
#[path = "real/tool.rs"]
mod tool;
#[path = "real/trace.rs"]
mod trace;
#[path = "real/world.rs"]
mod world;
#[path = "real/wrap.rs"]
mod wrap;
