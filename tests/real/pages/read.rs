//! Can a page be read by the eye?

use crate::browser::Browser;
use serde_json::json;

/// Texts stand out from what is behind them, in light and in dark.
pub fn can_be_read(browser: &mut Browser) {
    let mut backs = Vec::new();
    for scheme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", media);
        backs.push(browser.eval("getComputedStyle(document.body).backgroundColor"));
        // WCAG's contrast of text to what is behind it, at least 4.5.
        let poor = browser.eval(
            "(() => { const rgb = (text) => text.match(/[\\d.]+/g).map(Number); \
             const light = (color) => { const [r, g, b] = color.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); \
               return 0.2126 * r + 0.7152 * g + 0.0722 * b; }; \
             const behind = (own) => { for (; own; own = own.parentElement) { const back = rgb(getComputedStyle(own).backgroundColor); if (back.length < 4 || back[3] === 1) return back; } return [255, 255, 255]; }; \
             const poor = []; \
             for (const own of document.querySelectorAll('h1, h2, p, td, th span, button, .node span, .dim, .count, footer')) { \
               if (!own.textContent.trim() || !own.offsetParent) continue; \
               const [one, other] = [light(rgb(getComputedStyle(own).color)), light(behind(own))]; \
               const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05); \
               if (contrast < 4.5) poor.push([own.className, own.textContent.slice(0, 20), contrast]); } \
             return poor; })()",
        );
        assert_eq!(poor, json!([]), "{scheme}");
    }
    assert_ne!(backs[0], backs[1]);
}
