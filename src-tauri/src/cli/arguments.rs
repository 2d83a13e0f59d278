//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::token_limit::TokenLimit;

/// A local gateway for coding agents.
#[derive(Debug, Parser)]
#[command(name = "omniroute", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Folder of the database and the management token [env: OMNIROUTE_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Address of the running gateway [env: OMNIROUTE_URL; else as the data folder says]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Write one JSON document, the gateway's reply, instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway in the foreground until it is interrupted
    Serve(Serve),
    /// Show how the running gateway does
    Status,
    /// Accounts at providers
    #[command(subcommand)]
    Connection(ConnectionCommand),
    /// Names with several models behind them
    #[command(subcommand)]
    Combo(ComboCommand),
    /// Keys that agents present
    #[command(subcommand)]
    Key(KeyCommand),
    /// Accounts that several keys share
    #[command(subcommand)]
    Pool(PoolCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Listen on this port for this run; 0 takes any free one
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// JSON file {"settings": …, "resilience": …} that supplies defaults
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConnectionCommand {
    /// Add an account; its key comes from standard input or the environment
    Add(AddConnection),
    /// List accounts
    List {
        /// Only those of this provider
        #[arg(long, value_name = "ID")]
        provider: Option<String>,
    },
    /// Remove an account
    Remove {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Send a small request with an account; ends with 1 when it fails
    Test {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddConnection {
    /// Provider of the catalogue, or a custom one
    #[arg(long, value_name = "ID")]
    pub(crate) provider: String,
    #[arg(long)]
    pub(crate) name: String,
    /// Read the key from standard input
    #[arg(long, conflicts_with = "api_key_env")]
    pub(crate) api_key_stdin: bool,
    /// Read the key from this environment variable
    #[arg(long, value_name = "VAR")]
    pub(crate) api_key_env: Option<String>,
    /// Send requests there instead of to the provider's own address
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// 1 is asked first
    #[arg(long, value_name = "N")]
    pub(crate) priority: Option<u32>,
    /// Requests under way at once
    #[arg(long, value_name = "N")]
    pub(crate) max_concurrent: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ComboCommand {
    /// Make a combo of models, patterns and other combos
    Create(CreateCombo),
    /// List combos, hidden ones too
    List,
    /// Remove a combo that nothing leads to any more
    Remove {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Write combos as a document for another installation to standard output
    Export {
        /// Only this combo and those it leads to
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Take combos over from a document: all of them, or none
    Import {
        /// The document; - reads standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Replace combos whose names are taken, instead of refusing the document
        #[arg(long)]
        replace: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateCombo {
    /// What clients send as the model
    #[arg(long)]
    pub(crate) name: String,
    /// How it chooses, such as priority, weighted or auto
    #[arg(long, value_name = "S")]
    pub(crate) strategy: Option<String>,
    /// provider/model, provider/pattern*, or the name of a combo
    #[arg(value_name = "STEP", required = true)]
    pub(crate) steps: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it; it is not shown again
    Create(Box<CreateKey>),
    /// List keys, without the keys themselves
    List,
    /// Revoke a key
    Revoke {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Default, Args)]
pub(crate) struct CreateKey {
    #[arg(long)]
    pub(crate) name: String,
    /// What the key may do beyond inference; can be repeated
    #[arg(long = "scope", value_name = "S")]
    pub(crate) scopes: Vec<String>,
    /// Models the key may use, such as openai/gpt-5*, all when absent; can be repeated
    #[arg(long = "allow-model", value_name = "GLOB")]
    pub(crate) allowed_models: Vec<String>,
    /// Combos the key may ask for, all when absent; can be repeated
    #[arg(long = "allow-combo", value_name = "NAME")]
    pub(crate) allowed_combos: Vec<String>,
    /// Connections the key may use, all when absent; can be repeated
    #[arg(long = "allow-connection", value_name = "ID")]
    pub(crate) allowed_connections: Vec<String>,
    /// Connections to ask before others, first choice first; can be repeated
    #[arg(long = "prefer-connection", value_name = "ID")]
    pub(crate) preferred_connections: Vec<String>,
    /// US dollars the key may spend in a day
    #[arg(long, value_name = "USD")]
    pub(crate) budget_daily: Option<f64>,
    /// US dollars the key may spend in a week
    #[arg(long, value_name = "USD")]
    pub(crate) budget_weekly: Option<f64>,
    /// US dollars the key may spend in a month
    #[arg(long, value_name = "USD")]
    pub(crate) budget_monthly: Option<f64>,
    /// The share of a limit from which on a warning is shown, 0.8 when absent
    #[arg(long, value_name = "SHARE")]
    pub(crate) warn_at: Option<f64>,
    /// Tokens the key may use, such as 500000, 500000/weekly, openai=500000 or openai/gpt-5*=500000/monthly; can be
    /// repeated
    #[arg(long = "token-limit", value_name = "LIMIT")]
    pub(crate) token_limits: Vec<TokenLimit>,
    /// The period of token limits that name none: daily, weekly or monthly
    #[arg(long, value_name = "INTERVAL", value_parser = ["daily", "weekly", "monthly"])]
    pub(crate) reset_interval: Option<String>,
    /// When periods begin, such as 06:00; midnight when absent
    #[arg(long, value_name = "HH:MM")]
    pub(crate) reset_time: Option<String>,
    /// When the key stops, such as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub(crate) expires_at: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PoolCommand {
    /// Share accounts among keys
    Create(CreatePool),
    /// List pools
    List,
    /// Show what each key used of a pool
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Remove a pool; its accounts and keys stay
    Remove {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreatePool {
    #[arg(long)]
    pub(crate) name: String,
    /// Short name in the names of its models; made of the name when absent
    #[arg(long, value_name = "S")]
    pub(crate) slug: Option<String>,
    /// An account of the pool; can be repeated
    #[arg(long = "connection", value_name = "ID", required = true)]
    pub(crate) connections: Vec<String>,
    /// What there is to share, such as 1500:requests:hourly; can be repeated, those of the plan when absent
    #[arg(long = "limit", value_name = "AMOUNT:UNIT:WINDOW")]
    pub(crate) limits: Vec<String>,
    /// A key's part, such as ID:3:hard; can be repeated
    #[arg(long = "key", value_name = "ID:WEIGHT[:POLICY]")]
    pub(crate) keys: Vec<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_commands_of_the_specification_are_understood() {
        for line in [
            "omniroute serve",
            "omniroute serve --port 0 --data-dir /tmp/x --json",
            "omniroute serve --config settings.json",
            "omniroute status --json",
            "omniroute --data-dir /tmp/x status",
            "omniroute connection add --provider openai --name c1 --api-key-stdin --base-url http://127.0.0.1:1/v1",
            "omniroute connection add --provider openai --name c1 --api-key-env KEY --priority 2 --max-concurrent 3",
            "omniroute connection list --provider openai",
            "omniroute connection remove 1 --url http://127.0.0.1:1",
            "omniroute connection test 1 --json",
            "omniroute key create --name k --scope self:usage --scope mcp:connect --allow-connection c1",
            "omniroute key create --data-dir /tmp/x --name test --expires-at 2027-01-01T00:00:00Z",
            "omniroute key create --name k --allow-model openai/* --allow-combo team --prefer-connection c1",
            "omniroute key create --name k --budget-daily 5 --budget-weekly 20 --budget-monthly 50.5 --warn-at 0.9",
            "omniroute key create --name k --token-limit 1000 --token-limit openai=5/weekly --reset-time 06:00",
            "omniroute combo create --name team --strategy weighted openai/m1 anthropic/claude-* other",
            "omniroute combo list --json",
            "omniroute combo remove 1",
            "omniroute combo export",
            "omniroute combo export 1",
            "omniroute combo import combos.json --replace",
            "omniroute combo import -",
            "omniroute key list",
            "omniroute key revoke 1",
            "omniroute pool create --name team --connection c1 --limit 1500:requests:hourly --key k1:3:hard --key k2:1",
            "omniroute pool list --json",
            "omniroute pool show 1",
            "omniroute pool remove 1",
        ] {
            let parsed = Arguments::try_parse_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
        }
    }

    #[test]
    fn wrong_usage_ends_with_two() {
        for line in [
            "omniroute",
            "omniroute dance",
            "omniroute serve --port 70000",
            "omniroute connection add --provider openai",
            "omniroute connection add --provider openai --name c1 --api-key sk-secret",
            "omniroute connection add --provider openai --name c1 --api-key-stdin --api-key-env KEY",
            "omniroute combo create --name team",
            "omniroute combo import",
            "omniroute key revoke",
            "omniroute key create --name k --budget-daily much",
            "omniroute key create --name k --token-limit openai=many",
            "omniroute key create --name k --reset-interval yearly",
            "omniroute pool create --name team",
        ] {
            let refused = Arguments::try_parse_from(line.split(' ')).expect_err(line);
            assert_eq!(refused.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn options_may_stand_before_and_after_the_command() {
        let parsed = Arguments::try_parse_from(["omniroute", "status", "--json", "--data-dir", "/d"]).expect("parsed");
        assert!(parsed.json && parsed.data_dir == Some("/d".into()) && matches!(parsed.command, Command::Status));
    }
}
