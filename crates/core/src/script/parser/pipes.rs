//! Which commands read what others print: by pipes between them, by redirections of compounds, and by names of pipes.

use super::Parser;
use super::frame::{NamedPipe, Stage};
use crate::script::Pipe;

impl Parser<'_> {
    /// Ends a part of a pipeline, which is a command, or a compound with the redirections behind it.
    pub(super) fn end_stage(&mut self, is_piped: bool, is_command: bool, ends_compound: bool) {
        let end = self.script.commands.len();
        let next = is_piped.then_some(self.script.pipes.len());
        let frame = self.top();
        let level = frame.compounds.len();
        frame.stages.truncate(level + 1);
        let named = std::mem::take(&mut frame.named_pipes);
        let Some(stage) = frame.stages.last_mut() else { return };
        let Stage { first, pipe } = *stage;
        *stage = Stage { first: end, pipe: next };
        if let Some(read) = pipe.and_then(|pipe| self.script.pipes.get_mut(pipe)) {
            read.to.end = end;
        }
        if is_piped {
            // Its end is not read yet.
            self.script.pipes.push(Pipe { from: first..end, to: end..usize::MAX, adds: false });
        }
        if !is_command {
            return;
        }
        for (how, commands) in named {
            self.script.pipes.push(match how {
                NamedPipe::Read => Pipe { from: commands, to: end - 1..end, adds: true },
                NamedPipe::Written => Pipe { from: first..end, to: commands, adds: false },
            });
        }
        if ends_compound {
            // What is in it reads what its redirections say.
            self.script.pipes.push(Pipe { from: end - 1..end, to: first..end - 1, adds: false });
        }
    }

    /// Notes commands in `<( … )` or `>( … )`, whose text begins there with that command.
    pub(super) fn name_pipe(&mut self, start: usize, first: usize) {
        let sign = self.text[..start].trim_end_matches('(').trim_end_matches("\\\n");
        let how = if sign.ends_with('>') { NamedPipe::Written } else { NamedPipe::Read };
        let commands = first..self.script.commands.len();
        self.top().named_pipes.push((how, commands));
    }
}
