//! How the answer is drawn, as far as this vendor lets one say (gateway specification, 2.8).

use domain::Dialect;

use crate::canonical::{Request, Target, Warning};

/// What is left.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Drawing<'a> {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u64>,
    pub(super) stop: Vec<&'a str>,
    pub(super) service_tier: Option<&'a str>,
}

pub(super) fn fit<'a>(request: &'a Request, target: &Target, thinks: bool, warnings: &mut Vec<Warning>) -> Drawing<'a> {
    let sampling = &request.sampling;
    let is_own = request.source == Dialect::Messages;
    let mut warn = |about: &str| warnings.push(Warning { code: "DROPPED_PARAMETER", about: about.to_owned() });
    let mut drawing = Drawing::default();
    let is_fixed = target.adaptive_thinking;
    drawing.temperature = sampling.temperature.filter(|temperature| {
        let takes = !is_fixed && !target.refuses("temperature") && (!thinks || *temperature == 1.0);
        if !takes || !(0.0..=1.0).contains(temperature) {
            warn("temperature");
        }
        takes
    });
    drawing.temperature = drawing.temperature.map(|temperature| temperature.clamp(0.0, 1.0));
    let has_temperature = drawing.temperature.is_some();
    drawing.top_p = sampling.top_p.filter(|top_p| {
        // Newer models take one of the two.
        let is_second = has_temperature && !is_own;
        let takes = !is_fixed && !target.refuses("top_p") && !is_second && (!thinks || (0.95..=1.0).contains(top_p));
        if !takes {
            warn("top_p");
        }
        takes
    });
    drawing.top_k = sampling.top_k.filter(|_| {
        let takes = !is_fixed && !target.refuses("top_k") && !thinks;
        if !takes {
            warn("top_k");
        }
        takes
    });
    drawing.stop = sampling.stop.iter().map(String::as_str).filter(|stop| !stop.trim().is_empty()).collect();
    if drawing.stop.len() < sampling.stop.len() {
        warn("stop");
    }
    drawing.service_tier = request.service_tier.as_deref().filter(|tier| {
        let is_known = is_own || matches!(*tier, "auto" | "standard_only");
        if !is_known && *tier != "default" {
            warn("service_tier");
        }
        is_known
    });
    for about in without_counterpart(request) {
        warn(about);
    }
    if !is_own {
        request.dropped.iter().for_each(|about| warn(about));
    }
    drawing
}

/// What was said that has no place in this dialect.
fn without_counterpart(request: &Request) -> impl Iterator<Item = &'static str> {
    let sampling = &request.sampling;
    [
        ("seed", sampling.seed.is_some()),
        ("frequency_penalty", sampling.frequency_penalty.is_some_and(|penalty| penalty != 0.0)),
        ("presence_penalty", sampling.presence_penalty.is_some_and(|penalty| penalty != 0.0)),
        ("logprobs", sampling.logprobs == Some(true)),
        ("top_logprobs", sampling.top_logprobs.is_some_and(|count| count > 0)),
        ("logit_bias", sampling.logit_bias.as_ref().is_some_and(|bias| !bias.is_empty())),
        ("verbosity", request.verbosity.is_some()),
        ("metadata", request.metadata.as_ref().is_some_and(|metadata| !metadata.is_empty())),
    ]
    .into_iter()
    .filter_map(|(about, is_said)| is_said.then_some(about))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Sampling;

    fn fitted(
        sampling: Sampling,
        adaptive: bool,
        thinks: bool,
    ) -> (Option<f64>, Option<f64>, Option<u64>, usize, usize) {
        let request = Request { sampling, ..Request::new("m", Dialect::Chat) };
        let target = Target { adaptive_thinking: adaptive, ..Target::unknown("m") };
        let mut warnings = Vec::new();
        let drawing = fit(&request, &target, thinks, &mut warnings);
        (drawing.temperature, drawing.top_p, drawing.top_k, drawing.stop.len(), warnings.len())
    }

    #[test]
    fn only_what_the_model_takes_is_said_and_the_rest_is_a_warning() {
        let all = |temperature| Sampling {
            temperature: Some(temperature),
            top_p: Some(0.9),
            top_k: Some(40),
            stop: vec!["END".to_owned(), " ".to_owned()],
            seed: Some(1),
            ..Sampling::default()
        };
        let no_temperature = |top_p| Sampling { top_p: Some(top_p), ..Sampling::default() };
        for (sampling, adaptive, thinks, expected) in [
            (all(0.2), false, false, (Some(0.2), None, Some(40), 1, 3)),
            (all(1.7), false, false, (Some(1.0), None, Some(40), 1, 4)),
            (all(0.2), false, true, (None, None, None, 1, 5)),
            (all(1.0), false, true, (Some(1.0), None, None, 1, 4)),
            (all(1.0), true, false, (None, None, None, 1, 5)),
            (no_temperature(0.9), false, false, (None, Some(0.9), None, 0, 0)),
            (no_temperature(0.9), false, true, (None, None, None, 0, 1)),
            (no_temperature(0.97), false, true, (None, Some(0.97), None, 0, 0)),
            (Sampling::default(), true, true, (None, None, None, 0, 0)),
        ] {
            assert_eq!(fitted(sampling.clone(), adaptive, thinks), expected, "{sampling:?}");
        }
    }
}
