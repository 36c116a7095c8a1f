//! How does a person see a long build move?
//!
//! A bar on a terminal; elsewhere a line now and then. Failures are said as they happen, above the bar; of many that are alike
//! the first few.

use super::global::Global;
use super::output::say;
use crate::build::compile::Observer;
use crate::build::estimate::Forecast;
use crate::build::{Event, Job, Outcome, Unit};
use crate::report::costs::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Least time between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

/// Images of which one and the same failure is said, before the end tells how many there were.
const NAMED: usize = 3;

/// Shows how many images are done.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    total: usize,
    done: usize,
    failed: usize,
    begun: Instant,
    said: Instant,
    forecast: Option<Forecast>,
    verbose: bool,
    /// Number of each failure, by its message.
    met: BTreeMap<String, usize>,
}

impl Progress {
    /// For a number of images, which take a time where it is foreseen.
    pub(crate) fn new(global: &Global, total: usize, forecast: Option<Forecast>) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !global.quiet && total > 0).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let template = "  compiling [{bar:32}] {pos}/{len} images, {pace}{msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                let pace = |state: &ProgressState, out: &mut dyn Write| {
                    let _ = out.write_str(&pace(state.pos(), state.elapsed()));
                };
                bar.set_style(style.progress_chars("=> ").with_key("pace", pace));
            }
            bar.set_message(forecast.as_ref().map(|forecast| left(forecast.wall())).unwrap_or_default());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let now = Instant::now();
        Progress {
            bar,
            lines: !terminal && !global.quiet,
            total,
            done: 0,
            failed: 0,
            begun: now,
            said: now,
            forecast,
            verbose: global.verbose > 0,
            met: BTreeMap::new(),
        }
    }

    /// Takes note of an event. `name` gives an image's place and kernel.
    pub(crate) fn on<P>(&mut self, event: &Event<'_, P>, name: &dyn Fn((usize, usize)) -> String) {
        match event {
            Event::Started { .. } => return,
            Event::Retrying { image, target, attempt, cause } => {
                self.say_alike("note", &|| name((*image, *target)), format!("{cause}; attempt {attempt}"));
                return;
            }
            Event::Finished(_) => {}
            Event::Failed(failure) => {
                self.failed = self.failed.saturating_add(1);
                self.say_alike("error", &|| name(failure.unit()), failure.to_string());
            }
        }
        self.done = self.done.saturating_add(1);
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            let failed = if self.failed > 0 { format!(" ({} failed)", self.failed) } else { String::new() };
            bar.set_message(format!("{}{failed}", self.left()));
        } else if self.lines && self.said.elapsed() >= PAUSE {
            self.said = Instant::now();
            let seconds = self.begun.elapsed().as_secs();
            let (failed, left) = (self.failed, self.left());
            say(&format!("compiled {} of {} images in {seconds} s, {failed} failed{left}", self.done, self.total));
        }
    }

    /// Takes note of a module that is done, for what is left.
    fn done(&mut self, unit: Unit) {
        if let Some(forecast) = &mut self.forecast {
            forecast.note(unit);
        }
    }

    /// Text about the time that is left, where it is foreseen.
    fn left(&self) -> String {
        let forecast = self.forecast.as_ref();
        forecast.map(|forecast| left(forecast.left(self.begun.elapsed()))).unwrap_or_default()
    }

    /// Says what happened to an image, unless the same was said of enough others.
    fn say_alike(&mut self, kind: &str, name: &dyn Fn() -> String, what: String) {
        let times = self.met.get(&what).copied().unwrap_or_default();
        match times.cmp(&NAMED) {
            Ordering::Greater if !self.verbose => return,
            Ordering::Equal if !self.verbose => self.say(&format!("{kind}: more images alike: {what} (-v tells each)")),
            _ => self.say(&format!("{kind}: {}: {what}", name())),
        }
        self.met.insert(what, times.saturating_add(1));
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A time that is left, as people tell it.
fn left(seconds: f64) -> String {
    if seconds >= 120.0 {
        return format!(", about {:.0} minutes left", seconds / 60.0);
    }
    // Work that takes longer than was foreseen is about to end.
    format!(", about {:.0} s left", seconds.max(0.0).abs())
}

/// Shows how far a compilation is, and has it watched.
pub(crate) struct Watched<'w, 'b> {
    global: &'w Global,
    watch: &'w mut Watch<'b>,
    /// Name of an image for a target in messages.
    name: &'w dyn Fn(Unit) -> String,
    progress: Option<Progress>,
}

impl<'w, 'b> Watched<'w, 'b> {
    /// Begins with nothing to show.
    pub(crate) fn new(
        global: &'w Global,
        watch: &'w mut Watch<'b>,
        name: &'w dyn Fn(Unit) -> String,
    ) -> Watched<'w, 'b> {
        Watched { global, watch, name, progress: None }
    }
}

impl Observer for Watched<'_, '_> {
    fn begin(&mut self, job: &Job<'_>) {
        self.watch.begin(job);
    }

    fn cached(&mut self, unit: Unit, begun: Instant, binary: &[u8]) {
        self.watch.cached(unit, begun, binary);
    }

    fn folded(&mut self, outcome: &Outcome, begun: Instant) {
        self.watch.folded(outcome, begun);
    }

    fn workers_begin(&mut self, modules: usize, forecast: Forecast) {
        self.progress = Some(Progress::new(self.global, modules, Some(forecast)));
    }

    fn on(&mut self, event: &Event<'_>) {
        self.watch.on(event);
        if let Some(progress) = &mut self.progress {
            match event {
                Event::Finished(artifact) => progress.done(artifact.unit()),
                Event::Failed(failure) => progress.done(failure.unit()),
                Event::Started { .. } | Event::Retrying { .. } => {}
            }
            progress.on(event, self.name);
        }
    }

    fn workers_end(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }
}

/// The pace so far, by the unit in which it is a number of some images.
fn pace(done: u64, elapsed: Duration) -> String {
    let a_second = done as f64 / elapsed.as_secs_f64().max(0.001);
    match a_second {
        _ if done == 0 => "none yet".to_owned(),
        10.0.. => format!("{a_second:.0} a second"),
        1.0.. => format!("{a_second:.1} a second"),
        _ => format!("{:.0} a minute", (a_second * 60.0).max(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_and_times_are_for_people() {
        let paces = [(0, 5), (4, 10), (30, 10), (300, 10)].map(|(done, secs)| pace(done, Duration::from_secs(secs)));
        assert_eq!([left(-0.3), left(12.0)], [", about 0 s left", ", about 12 s left"]);
        assert_eq!(paces, ["none yet", "24 a minute", "3.0 a second", "30 a second"]);
    }
}
