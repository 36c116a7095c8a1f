//! How are the images of many files listed, file by file?

use super::{Totals, View, all, groups, header, json, problems};
use crate::error::Result;
use crate::report::document::{Form, Look, Parts, Sink};
use crate::report::text::Shown;
use crate::report::{FileFacts, clones, image, sizes};
use std::io::Write;

/// The facts that are told of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// A row for each group of images that differ in their kernels only.
    Groups,
    /// A row for each image.
    Images,
    /// A page for each image.
    Pages,
    /// Bytes, by who takes them.
    Sizes,
    /// Images that are the same code.
    Clones,
}

/// The images of files, written as the files are read.
pub struct Listing<'o>(Kind<'o>);

enum Kind<'o> {
    Text(Box<Text<'o>>),
    Json(json::Document<&'o mut dyn Write>),
    Jsonl(&'o mut dyn Write),
    /// Clones as a document, which is small.
    Clones(Vec<clones::Clones>, &'o mut dyn Sink),
}

struct Text<'o> {
    depth: Depth,
    look: Look,
    out: &'o mut dyn Sink,
    parts: Parts,
    totals: Totals,
    sizes: sizes::Sizes,
}

impl<'o> Listing<'o> {
    /// Begins the list.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn open(form: Form, depth: Depth, out: &'o mut dyn Sink) -> Result<Listing<'o>> {
        Ok(Listing(match form {
            Form::Json if depth == Depth::Clones => Kind::Clones(Vec::new(), out),
            Form::Json => Kind::Json(json::Document::open(out.documents())?),
            Form::Jsonl => Kind::Jsonl(out.documents()),
            _ => {
                let look = out.look();
                let (totals, sizes) = (Totals::default(), sizes::Sizes::default());
                Kind::Text(Box::new(Text { depth, look, out, parts: Parts::default(), totals, sizes }))
            }
        }))
    }

    /// Adds a file, and to the file what was found wrong with images that had not been examined.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn file(&mut self, facts: &mut FileFacts<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Text(text) => text.file(facts),
            Kind::Json(document) => document.file(facts),
            Kind::Jsonl(out) => json::lines(out, facts),
            Kind::Clones(found, _) => {
                found.extend((!facts.images.is_empty()).then(|| clones::find(facts)));
                Ok(())
            }
        }
    }

    /// Ends the list with what is told of all files.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn end(self) -> Result<()> {
        match self.0 {
            Kind::Text(text) => text.end(),
            Kind::Json(document) => document.close().map(|_| ()),
            Kind::Jsonl(_) => Ok(()),
            Kind::Clones(found, out) => out.made(&clones::json(&found)),
        }
    }
}

impl Text<'_> {
    fn file(&mut self, facts: &FileFacts<'_>) -> Result<()> {
        let view = self.look.view;
        if self.depth == Depth::Clones {
            if facts.images.is_empty() {
                return Ok(());
            }
            let table = clones::table(&clones::find(facts), facts, &view);
            return self.parts.show(&Shown::sections(&[header(facts, &view), table]), self.out);
        }
        if facts.images.is_empty() && facts.problems.is_empty() || facts.bundle.is_none() {
            return Ok(());
        }
        let counted = self.totals.add(facts);
        if self.depth == Depth::Sizes && counted {
            self.sizes.add(facts, &view);
        }
        let text = self.of_file(facts, &view);
        self.parts.show(&text, self.out)
    }

    fn of_file(&self, facts: &FileFacts<'_>, view: &View) -> Shown {
        let body = match self.depth {
            Depth::Pages => {
                let pages: Vec<Shown> = facts.images.iter().map(|one| image::image(facts, one, view)).collect();
                return Shown::sections(&pages);
            }
            Depth::Images => all(facts, view),
            Depth::Sizes => sizes::sizes(facts, view, self.look.drawing),
            Depth::Groups | Depth::Clones => groups(facts, view),
        };
        let mut out = Shown::sections(&[header(facts, view), body]);
        out.append(&problems(facts, view));
        out
    }

    fn end(self) -> Result<()> {
        if self.depth == Depth::Clones {
            return Ok(());
        }
        self.out.show(&self.totals.line(&self.look.view))?;
        self.out.show(&self.sizes.all(&self.look.view, self.look.drawing))
    }
}
