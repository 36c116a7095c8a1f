//! How long does a case take, how much memory, and does it end at all?
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Memory allowed beside the size of the input.
const MEMORY: usize = 256 << 20;
/// Time allowed for one case. A sound read of the sample takes a thousandth of it.
const TIME: Duration = Duration::from_secs(10);

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn grown(by: usize) {
    let now = NOW.fetch_add(by, SeqCst) + by;
    PEAK.fetch_max(now, SeqCst);
}

// SAFETY: every call goes to the system's allocator with the caller's own arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), SeqCst);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        grown(size);
        let moved = unsafe { System.realloc(block, layout, size) };
        NOW.fetch_sub(if moved.is_null() { size } else { layout.size() }, SeqCst);
        moved
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time, since memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// The case under way, for the watchman.
type Running = Arc<Mutex<Option<(String, Instant)>>>;

/// Runs cases one after the other under the bounds.
pub struct Meter {
    running: Running,
    done: Arc<AtomicBool>,
    _turn: MutexGuard<'static, ()>,
}

impl Meter {
    /// Waits for its turn and posts a watchman, who ends the process where a case does not end by itself.
    pub fn new() -> Meter {
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (running, done) = (Running::default(), Arc::new(AtomicBool::new(false)));
        let (watched, ended) = (running.clone(), done.clone());
        std::thread::spawn(move || {
            while !ended.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(200));
                if let Some((name, since)) = &*watched.lock().unwrap()
                    && since.elapsed() > TIME * 3
                {
                    // A test's own output would be captured and lost with the process.
                    std::fs::write("/dev/stderr", format!("\nhangs: {name}\n")).ok();
                    std::process::abort();
                }
            }
        });
        Meter { running, done, _turn: turn }
    }

    /// Runs one case on an input of `size` bytes.
    pub fn run<T>(&mut self, name: &str, size: usize, case: impl FnOnce() -> T) -> T {
        *self.running.lock().unwrap() = Some((name.to_owned(), Instant::now()));
        let before = NOW.load(SeqCst);
        PEAK.store(before, SeqCst);
        let begin = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(case));
        let (took, peak) = (begin.elapsed(), PEAK.load(SeqCst).saturating_sub(before));
        *self.running.lock().unwrap() = None;
        let result = result.unwrap_or_else(|_| panic!("{name}: see the panic above"));
        assert!(peak <= size + MEMORY, "{name}: {peak} bytes of memory for {size} of input");
        assert!(took <= TIME, "{name}: {took:?}");
        result
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.done.store(true, SeqCst);
    }
}
