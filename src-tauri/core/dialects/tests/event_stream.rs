//! The event stream format as the WHATWG HTML standard defines it (9.2.5 parsing, 9.2.6 interpreting an event stream).
//!
//! Facts from the standard: one leading byte order mark is dropped; lines end with CRLF, LF or CR; a line that begins
//! with a colon is a comment; one blank after a field's colon is dropped; a field without a colon has an empty value;
//! data lines are joined by a line feed; the last `event` wins; unknown fields are ignored. The standard drops an event
//! that no blank line ends; this decoder yields it, because upstreams close that way after their last word and a frame
//! must never be lost (every byte of the input is in exactly one frame).
//!
//! Every stream is cut at every byte, and also handed over byte by byte: the frames are the same.

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use bytes::Bytes;
use dialects::SseDecoder;

/// Event name and data of what is meant for a reader.
type Seen = Vec<(Option<String>, String)>;

fn decode(chunks: &[&[u8]]) -> (Seen, Vec<u8>) {
    let mut decoder = SseDecoder::new(1 << 16);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk), &mut frames).expect("small frames");
    }
    decoder.finish(&mut frames);
    let raw = frames.iter().flat_map(|frame| frame.raw.iter().copied()).collect();
    let meant = frames.into_iter().filter(|frame| !frame.is_comment);
    let seen = meant.map(|frame| (frame.event, String::from_utf8(frame.data.to_vec()).expect("text"))).collect();
    (seen, raw)
}

fn check(input: &str, expected: &[(Option<&str>, &str)]) {
    let expected: Seen = expected.iter().map(|(event, data)| (event.map(str::to_owned), (*data).to_owned())).collect();
    let bytes = input.as_bytes();
    for cut in 0..=bytes.len() {
        let (seen, raw) = decode(&[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(seen, expected, "{input:?} cut at {cut}");
        assert_eq!(raw, bytes, "{input:?} cut at {cut}");
    }
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(decode(&single), (expected, bytes.to_vec()), "{input:?} byte by byte");
}

#[test]
fn the_examples_of_the_standard() {
    check("data: YHOO\ndata: +2\ndata: 10\n\n", &[(None, "YHOO\n+2\n10")]);
    check(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        &[(None, "first event"), (None, "second event"), (None, " third event")],
    );
    check("data:test\n\ndata: test\n\n", &[(None, "test"), (None, "test")]);
    check(
        "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
        &[(Some("add"), "73857293"), (Some("remove"), "2153")],
    );
}

#[test]
fn line_ends_may_be_mixed() {
    for end in ["\n", "\r\n", "\r"] {
        check(&format!("data: a{end}data: b{end}{end}data: c{end}{end}"), &[(None, "a\nb"), (None, "c")]);
    }
    check("data: a\r\ndata: b\n\rdata: c\r\n\r\n", &[(None, "a\nb"), (None, "c")]);
    check("data: a\rdata: b\n\r\ndata: c\n\n", &[(None, "a\nb"), (None, "c")]);
}

#[test]
fn fields_comments_and_the_byte_order_mark() {
    for (input, expected) in [
        ("\u{feff}data: a\n\n", vec![(None, "a")]),
        (": one\n: two\ndata: a\n: three\n\n", vec![(None, "a")]),
        (":\n\n", vec![]),
        ("data: a: b\n\n", vec![(None, "a: b")]),
        ("data:a\n\n", vec![(None, "a")]),
        ("data:\ta\n\n", vec![(None, "\ta")]),
        ("event: x\nevent: y\ndata: a\n\n", vec![(Some("y"), "a")]),
        ("retry: 3000\nid: 7\ndata: a\n\n", vec![(None, "a")]),
        ("retry: soon\nid: 7\n\n", vec![]),
        ("foo: bar\ndata: a\n\n", vec![(None, "a")]),
        ("Data: b\ndata: a\n\n", vec![(None, "a")]),
        ("data: a\ndata\n\n", vec![(None, "a\n")]),
        ("data: ä€𝄞\n\n", vec![(None, "ä€𝄞")]),
        ("\n\n\ndata: a\n\n\n\n", vec![(None, "a")]),
        ("", vec![]),
    ] {
        check(input, &expected);
    }
}

#[test]
fn what_no_blank_line_ends_is_not_lost() {
    check("data: a\n\ndata: b", &[(None, "a"), (None, "b")]);
    check("data: a\n\ndata: b\n", &[(None, "a"), (None, "b")]);
    check("event: x\ndata: a\r", &[(Some("x"), "a")]);
}
