//! How does text of a hostile file stand in a page without being more than text?

use crate::report::text;

/// Text for a reader, with what does not show.
pub(super) fn visible(text: &str) -> String {
    text::visible(text).into_owned()
}

/// Text as HTML, between tags and in quoted attributes.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// JSON that can stand in a `script` element: nothing in it ends or opens one. These letters stand in strings only.
pub(super) fn json(text: &str) -> String {
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_what_it_stands_in() {
        assert_eq!(html("</td>&\"'\u{1b}"), "&lt;/td&gt;&amp;&quot;&#39;\\u{1b}");
        let text = serde_json::to_string("</script><!--&\u{2028}").unwrap();
        let embedded = json(&text);
        assert!(!embedded.contains(['<', '>', '&']), "{embedded}");
        assert_eq!(serde_json::from_str::<String>(&embedded).unwrap(), "</script><!--&\u{2028}");
    }
}
