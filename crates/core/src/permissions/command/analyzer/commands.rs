//! One simple command and all that it starts: what it is looked into for, and what is held against it.

use super::super::analysis::SimpleCommand;
use super::super::argument::Argument;
use super::super::running::Runner;
use super::super::unwrap::{self, Layer, Unwrapped};
use super::super::variables::Becomes;
use super::super::{chain, databases, deny, doubt, later, machine, network, paths, setting, terminals, wrappers};
use super::{Analyzer, COMMANDS, Given, Input, Text, WORDS, WRAPPED};
use crate::script::NestedKind;

impl Analyzer<'_> {
    /// What a command with braces is for a plain `sh`, to which they are characters.
    pub(super) fn see_plain(&mut self, layer: Layer, given: Given<'_>, depth: usize) {
        let name = unwrap::command_name(&layer.arguments, &self.places);
        if name.as_deref().is_some_and(|name| chain::MOVERS.contains(&name)) {
            self.unresolve("shells do not agree where a command with '{…,…}' in its words leads");
            self.places.lead(None);
            return;
        }
        self.see_command(layer, given, depth);
    }

    /// A simple command and whatever it wraps.
    pub(super) fn see_command(&mut self, first: Layer, given: Given<'_>, depth: usize) {
        if first.arguments.is_empty() {
            // All its words were expansions that leave nothing.
            return;
        }
        let is_plain = first.restated;
        let mut layers = vec![first];
        let mut seen = 0;
        while let Some(layer) = layers.pop() {
            seen += 1;
            self.words += layer.arguments.len();
            let is_deep = seen > WRAPPED || self.words > WORDS;
            if is_deep {
                self.exceed("too many commands start each other");
            }
            if is_deep || self.commands.len() > COMMANDS {
                return;
            }
            let name = unwrap::command_name(&layer.arguments, &self.places);
            let Unwrapped { transparent, inner, scripts, unresolved, assigned, clears } =
                unwrap::unwrap(&layer, name.as_deref(), given.input);
            if let Some(name) = name.as_deref().filter(|name| databases::CLIENTS.contains(name))
                && databases::reads_input(name, &layer.arguments[1..])
                && let Some(doubt) = given.orders.doubt(name)
            {
                self.unresolve(&format!("the text of '{name}' {doubt}"));
            }
            if let (Some("read" | "mapfile" | "readarray"), Input::Text(text)) = (name.as_deref(), given.input)
                && doubt::is_subscript_with_code(text)
            {
                self.unresolve("what it reads into a variable runs a command where it is taken for a number");
            }
            for reason in unresolved {
                self.unresolve(&reason);
            }
            for word in &assigned {
                let name = word.split(['=', '+']).next().unwrap_or_default();
                self.see_assignment(name, Becomes::of_word(word));
                if let Some((name, value)) = word.split_once('=') {
                    self.see_value(name, value);
                }
            }
            if clears && self.context.continues {
                self.unresolve(
                    "it starts a program without the variables of the session, by which pagers run no commands",
                );
            }
            if seen > 1
                && let Some(name) = name.as_deref()
                && wrappers::SHELLS.contains(&name.rsplit('/').next().unwrap_or_default())
            {
                self.numbers.see_shell(&layer.arguments[1..]);
            }
            let running = self.running.text_of(name.as_deref());
            // Functions of a session reach also shells that it starts.
            let is_own = !self.context.continues && !matches!(name.as_deref(), Some("eval" | "trap" | "alias"));
            self.evaluated += if running.by == Runner::Apart { 0 } else { scripts.len() };
            for text in scripts {
                let (kind, reads) = (NestedKind::Script, given.orders);
                self.queue.push_back(Text { text, kind, depth: depth + 1, running, is_own, reads });
            }
            let wraps = !inner.is_empty();
            layers.extend(inner);
            self.record(&layer, name.as_deref(), wraps && transparent, is_plain && seen == 1);
        }
    }

    /// Lists and judges a command; one that `is_plain` is the one in front of it again, for another shell.
    fn record(&mut self, layer: &Layer, name: Option<&str>, wrapper: bool, is_plain: bool) {
        let arguments = &layer.arguments[..];
        if !is_plain {
            self.list(arguments, name, wrapper, layer.silent);
        }
        if let Some(list) = &mut self.allow_list
            && !layer.restated
        {
            list.see_command(arguments);
        }
        let Some(name) = name else { return };
        let only_tells = machine::only_tells(name, &arguments[1..]);
        let dangerous = if only_tells { None } else { deny::judge(name, &arguments[1..], &self.places) };
        let sets = || machine::sets(name, &arguments[1..]).or_else(|| network::changes(name, &arguments[1..]));
        if let Some(reason) = dangerous.or_else(sets) {
            self.deny(&reason);
        }
        if machine::may_set(name, &arguments[1..]) || network::may_change(name, &arguments[1..]) {
            self.unresolve(&format!("'{name}' may set the machine by a word that is known only when it runs"));
        }
        if let Some(reason) = later::doubt(name, &arguments[1..]).filter(|_| self.context.continues) {
            self.unresolve(reason);
        }
        if let Some(reason) = doubt::doubt(name, self.functions.contains(name), &arguments[1..], &self.places) {
            self.unresolve(&reason);
        }
        if let Some(reason) = terminals::handed(name, self.functions.contains(name), &arguments[1..], &self.places) {
            self.unresolve(&reason);
        }
        let takes_code = self.functions.contains(name);
        if takes_code && arguments[1..].iter().any(|word| doubt::is_subscript_with_code(word.marked())) {
            self.unresolve(&format!("a word of the function '{name}' runs a command where it is taken for a number"));
        }
        if matches!(name, "export" | "declare" | "typeset" | "readonly" | "env") {
            for (variable, value) in arguments[1..].iter().filter_map(|word| word.marked().split_once('=')) {
                self.see_program(variable, value);
                self.see_value(variable, value);
            }
        }
        for (variable, becomes) in setting::assigned(name, &arguments[1..]) {
            self.see_assignment(&variable, becomes);
        }
        self.arrays.see(name, &arguments[1..]);
        if self.context.continues && self.running.by == Runner::Later && chain::MOVERS.contains(&name) {
            self.places.lead_later();
            self.unresolve(&format!(
                "'{name}' in a function, an alias or a trap leads the shell of the session when that runs, from wherever it is then; in `( … )` it leads nothing but itself"
            ));
        }
        if layer.restated && !layer.silent {
            // `git -C dir add x` was looked at with the directory from which its words count.
            return;
        }
        match self.places.see_command(name, &arguments[1..], self.running.repeats) {
            paths::Moved::Inside => {}
            paths::Moved::Outside(target) => {
                self.deny(&format!("'{name}' leads to '{target}', outside the directories that are yours; copy what you need into them instead"));
            }
            paths::Moved::PerhapsOutside { target, from } => {
                self.deny(&format!("the shell may be in '{from}' by now, from where '{name}' leads to '{target}', outside the directories that are yours; use the full path"));
            }
            paths::Moved::Unknown => {
                self.unresolve(&format!("'{name}' leads to a directory that is known only when it runs"));
            }
        }
    }

    fn list(&mut self, arguments: &[Argument], name: Option<&str>, wrapper: bool, named: bool) {
        let join = |parts: Vec<String>| parts.join(" ");
        let marked = join(arguments.iter().map(|argument| argument.marked().to_owned()).collect());
        self.commands.push(SimpleCommand {
            text: join(arguments.iter().map(Argument::shown).collect()),
            argv: arguments.iter().map(|argument| argument.exact().map(str::to_owned)).collect(),
            wrapper,
            plain: name.and_then(|name| plain(&marked, name)),
            marked,
            named,
        });
    }
}

/// A command with the name that the program has without its directory; git runs `git-push` for `git push`.
fn plain(marked: &str, name: &str) -> Option<String> {
    let (spelled, rest) = marked.split_once(' ').map_or((marked, ""), |(spelled, rest)| (spelled, rest));
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = base
        .strip_prefix("git-")
        .filter(|command| !command.is_empty())
        .map_or(base.to_owned(), |command| format!("git {command}"));
    (base != spelled && !base.is_empty()).then(|| format!("{base} {rest}").trim_end().to_owned())
}
