//! Which day is it, and does an exception still hold on it?

use std::fmt;

/// Day of the Gregorian calendar, without a time zone. Written by hand, since the crates for dates are many times as
/// large as these functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Creates a date, or returns none where the calendar has no such day.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        (day >= 1 && day <= days_of(year, month)?).then_some(Date { year, month, day })
    }

    /// Returns the day in UTC at a number of seconds since 1970; none after the year 9999.
    pub fn from_unix_time(seconds: u64) -> Option<Date> {
        let mut days = seconds / 86_400;
        let mut year: u16 = 1970;
        loop {
            let length = if is_leap(year) { 366 } else { 365 };
            if days < length {
                break;
            }
            days = days.saturating_sub(length);
            year = year.checked_add(1).filter(|year| *year <= 9999)?;
        }
        for month in 1..=12 {
            let length = u64::from(days_of(year, month)?);
            if days < length {
                return Date::new(year, month, u8::try_from(days).ok()?.checked_add(1)?);
            }
            days = days.saturating_sub(length);
        }
        None
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u16, month: u8) -> Option<u8> {
    match month {
        2 => Some(if is_leap(year) { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (253_402_300_799, "9999-12-31"),
        ] {
            assert_eq!(Date::from_unix_time(seconds).unwrap().to_string(), text);
        }
        assert_eq!(Date::from_unix_time(253_402_300_800), None);
        assert_eq!(Date::from_unix_time(u64::MAX), None);
    }

    #[test]
    fn days_that_are_none() {
        for (year, month, day) in
            [(2026, 2, 29), (2100, 2, 29), (2026, 13, 1), (2026, 0, 1), (2026, 4, 31), (2026, 1, 0)]
        {
            assert_eq!(Date::new(year, month, day), None);
        }
        assert!(Date::new(2026, 12, 31) < Date::new(2027, 1, 1));
    }
}
