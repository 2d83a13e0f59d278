//! What recorded streams mean. A new case is one file beside its dialect; its snapshot lies next to it.

mod support;

use std::fmt::Write;

#[test]
fn golden_streams_mean_what_their_snapshots_say() {
    for golden in support::goldens() {
        let frames = support::frames(golden.framing, [golden.bytes.clone()]);
        let (events, reader) = support::events(golden.dialect, &frames);
        let mut told = String::new();
        for event in &events {
            writeln!(told, "{event:?}").unwrap();
        }
        writeln!(told, "-- {} frames, {} dropped, {:?}", frames.len(), reader.dropped(), reader.progress()).unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(support::folder(golden.dialect));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{}.events", golden.case), told));
    }
}
