//! `cargo run -p simulator -- --seed N` replays one story; without a seed it plays many.

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// Replay exactly this story.
    #[arg(long)]
    seed: Option<u64>,
    /// How many stories to play when none is named.
    #[arg(long, default_value_t = 2_000)]
    stories: u64,
    /// Actions per story.
    #[arg(long, default_value_t = 500)]
    steps: usize,
}

#[expect(clippy::print_stdout, reason = "the result is the program's output")]
fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let seeds = match arguments.seed {
        Some(seed) => seed..seed.saturating_add(1),
        None => 0..arguments.stories,
    };
    let mut played = 0_u64;
    for seed in seeds {
        if let Err(found) = simulator::play(seed, arguments.steps) {
            for (n, action) in found.actions.iter().enumerate() {
                println!("{:>4}  {action:?}", n + 1);
            }
            anyhow::bail!("seed {} breaks {:?} after {} steps", found.seed, found.broken, found.steps);
        }
        played += 1;
    }
    println!("{played} stories of {} steps broke no rule", arguments.steps);
    Ok(())
}
