//! `awk`: programs that run commands or open files, and what it loads besides its program.

use super::argument::Argument;
use super::shells::is_input;

/// Whether a call of `awk` can run commands, write files, or do what nobody sees here. A program in a file is a script like
/// any other, whose name is what there is to judge.
pub(super) fn may_run(rest: &[Argument]) -> bool {
    // What separates fields is no program: `-F'|'`.
    let mut separates = false;
    let words = rest.iter().filter(|word| {
        let is_value = std::mem::replace(&mut separates, word.marked() == "-F");
        !is_value && !word.marked().starts_with("-F")
    });
    words.into_iter().any(|word| word.exact().is_none_or(program_runs)) || loads(rest)
}

/// Whether a program runs commands or opens files, as far as its text says so. Signs in its strings and regular expressions are
/// data; where those cannot be told for sure, nothing is taken for data.
fn program_runs(program: &str) -> bool {
    if ["system", "getline", "@"].iter().any(|sign| program.contains(sign)) {
        return true;
    }
    let Some(code) = without_texts(program) else { return true };
    let code = code.replace("||", " ");
    let writes = |statement: &str| statement.find("print").is_some_and(|print| statement[print..].contains('>'));
    code.contains('|') || code.split([';', '{', '}', '\n']).any(writes)
}

/// The program without its strings and regular expressions; `None` where one does not end, or where a comment may hold signs
/// that open one.
fn without_texts(program: &str) -> Option<String> {
    let mut code = String::with_capacity(program.len());
    let mut last = ';';
    let mut characters = program.chars();
    while let Some(character) = characters.next() {
        // A `/` divides behind a value, and opens a regular expression behind these.
        let opens = character == '"' || (character == '/' && "(,{};!~&|=".contains(last));
        if character == '#' {
            return None;
        }
        if opens {
            loop {
                match characters.next()? {
                    '\\' => drop(characters.next()?),
                    '\n' => return None,
                    end if end == character => break,
                    _ => {}
                }
            }
            code.push('0');
            last = '0';
            continue;
        }
        code.push(character);
        if character == '\n' {
            last = ';';
        } else if !character.is_whitespace() {
            last = character;
        }
    }
    Some(code)
}

/// Whether awk takes a library or its program from its input.
fn loads(rest: &[Argument]) -> bool {
    let is_library = |text: &str| {
        let long = text.strip_prefix("--").map(|long| long.split_once('=').map_or(long, |(name, _)| name));
        let has = |option: &str| long.is_some_and(|long| long.len() > 1 && option.starts_with(long));
        text.starts_with("-l") || text.starts_with("-i") || has("load") || has("include")
    };
    rest.iter().take_while(|word| word.marked() != "--").any(|word| is_library(word.marked()))
        || rest.iter().enumerate().any(|(index, word)| {
            let text = word.marked();
            if matches!(text, "-f" | "--file" | "-E" | "--exec") {
                return rest.get(index + 1).is_some_and(is_input);
            }
            let file = ["--file=", "-f", "--exec=", "-E"].iter().find_map(|option| text.strip_prefix(option));
            file.is_some_and(|file| is_input(&Argument::known(file)))
        })
}
