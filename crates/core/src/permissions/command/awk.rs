//! `awk`: programs that run commands or open files, and what it loads besides its program.

use super::argument::Argument;
use super::shells::is_input;

/// Whether a call of `awk` can run commands, write files, or do what nobody sees here. A program in a file is a script like
/// any other, whose name is what there is to judge.
pub(super) fn may_run(rest: &[Argument]) -> bool {
    // What separates fields is no program: `-F'|'`.
    let mut separates = false;
    let mut has_ended = false;
    let words = rest.iter().filter(|word| {
        let is_value = std::mem::replace(&mut separates, !has_ended && word.marked() == "-F");
        let is_option = !has_ended && word.marked().starts_with("-F");
        has_ended |= !is_value && word.marked() == "--";
        !is_value && !is_option
    });
    words.into_iter().any(|word| word.exact().is_none_or(program_runs)) || loads(rest)
}

/// Whether a program runs commands or opens files, as far as its text says so. Signs in its strings and regular expressions are
/// data; where those cannot be told for sure, nothing is taken for data.
fn program_runs(program: &str) -> bool {
    if ["system", "getline", "@", "ARGV"].iter().any(|sign| program.contains(sign)) {
        return true;
    }
    let Some(code) = without_texts(program) else { return true };
    let code = code.replace("||", " ");
    let writes = |statement: &str| statement.find("print").is_some_and(|print| statement[print..].contains('>'));
    code.contains('|') || code.split([';', '{', '}', '\n']).any(writes)
}

/// Words behind which a value stands.
const KEYWORDS: [&str; 9] = ["case", "do", "else", "exit", "in", "print", "printf", "return", "delete"];

/// The program without its strings and regular expressions; `None` where one does not end, or where a comment may hold signs
/// that open one.
fn without_texts(program: &str) -> Option<String> {
    let mut code = String::with_capacity(program.len());
    let mut last = ';';
    let mut word = String::new();
    // Whether each bracket that is open belongs to a condition.
    let mut conditions: Vec<bool> = Vec::new();
    let mut ends_condition = false;
    let mut characters = program.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            // A line goes on behind it.
            if characters.next()? != '\n' {
                return None;
            }
            code.push(' ');
            continue;
        }
        // A `/` divides behind a value, and opens a regular expression behind signs and words of the language.
        let is_slash = character == '/';
        if is_slash && (code.ends_with("++") || code.ends_with("--") || matches!(last, '$') || word == "length") {
            return None;
        }
        let is_behind = "(,{};!~&|=+-*%^<>?:[".contains(last) || KEYWORDS.contains(&word.as_str()) || ends_condition;
        let opens = character == '"' || (is_slash && is_behind);
        if character == '#' {
            return None;
        }
        if opens {
            let mut bracketed = false;
            loop {
                match characters.next()? {
                    '\\' => drop(characters.next()?),
                    '\n' => return None,
                    // Implementations differ about a `/` in brackets, and about where those end.
                    end if end == character && bracketed => return None,
                    end if end == character => break,
                    '[' if is_slash => bracketed = true,
                    ']' if bracketed => bracketed = false,
                    _ => {}
                }
            }
            code.push('0');
            last = '0';
            word.clear();
            ends_condition = false;
            continue;
        }
        if character == '\n' {
            // A statement goes on behind a comma or an operator.
            code.push(if matches!(last, ',' | '&' | '|') { ' ' } else { '\n' });
            last = ';';
            word.clear();
            continue;
        }
        if !character.is_whitespace() {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if character == '(' {
                conditions.push(matches!(word.as_str(), "if" | "while" | "for" | "switch"));
            }
            ends_condition = character == ')' && conditions.pop().unwrap_or_default();
            if !(is_letter(character) && code.ends_with(is_letter)) {
                word.clear();
            }
            if is_letter(character) {
                word.push(character);
            }
            last = character;
        }
        code.push(character);
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
    // `-W exec file` of mawk reads a program, and `-W` of gawk stands for any of its long options.
    let is_other = |(index, word): (usize, &Argument)| {
        let value = word.marked().strip_prefix("-W").map(|glued| match glued {
            "" => rest.get(index + 1).map_or("", Argument::marked),
            glued => glued,
        });
        value.is_some_and(|value| !matches!(value, "version" | "help" | "interactive"))
    };
    rest.iter().take_while(|word| word.marked() != "--").any(|word| is_library(word.marked()))
        || rest.iter().take_while(|word| word.marked() != "--").enumerate().any(is_other)
        || rest.iter().enumerate().any(|(index, word)| {
            let text = word.marked();
            if matches!(text, "-f" | "-E")
                || (text.len() > 2 && ["--file", "--exec"].iter().any(|o| o.starts_with(text)))
            {
                return rest.get(index + 1).is_some_and(is_input);
            }
            let file = ["--file=", "-f", "--exec=", "-E"].iter().find_map(|option| text.strip_prefix(option));
            file.is_some_and(|file| is_input(&Argument::known(file)))
        })
}
