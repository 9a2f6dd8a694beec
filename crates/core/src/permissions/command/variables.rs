//! Variables by which a later command, harmless by its words, runs something else. Whatever gives one of them a value is judged here
//! ([`changes`]): an assignment, a builtin, a loop, `env`.

use super::argument::{ANY_CHARACTER, is_marked, is_marker};
use super::{deny, ordinary};

/// Whether a value starts a denied program where the variable is a program with its words, as `make` and `cargo` take them.
pub(super) fn starts_denied(name: &str, value: &str) -> bool {
    let is_denied = |word: &str| deny::is_denied(word.trim_matches(['\'', '"']).rsplit('/').next().unwrap_or(word));
    (is_program(name) && value.split_ascii_whitespace().any(is_denied))
        || ((name.ends_with("RUSTFLAGS") || name.ends_with("RUSTDOCFLAGS")) && value.contains("linker"))
        || (name == "ZIP" && value.contains("TT"))
        // `-B` by itself is an option of others, too.
        || ((is_of_compilers(name) || name.ends_with("FLAGS"))
            && value
                .split_ascii_whitespace()
                .any(|word| loads_into_compiler(word) && (word != "-B" || is_of_compilers(name))))
        // A rule of `make` hands it to a shell.
        || ((is_of_compilers(name) || is_program(name)) && value.replace("$$ORIGIN", "").replace("$ORIGIN", "").contains(['$', '`', ';', '|', '&', '\n']))
}

/// Whether a variable holds options of compilers.
fn is_of_compilers(name: &str) -> bool {
    const NAMES: [&str; 15] = [
        "ARFLAGS",
        "ASFLAGS",
        "CFLAGS",
        "CPPFLAGS",
        "CXXFLAGS",
        "FCFLAGS",
        "FFLAGS",
        "LDFLAGS",
        "LDLIBS",
        "LFLAGS",
        "LOADLIBES",
        "OBJCFLAGS",
        "OUTPUT_OPTION",
        "TARGET_ARCH",
        "YFLAGS",
    ];
    NAMES.iter().any(|known| name.ends_with(known))
}

/// Whether an option of a compiler has it start or load something else.
pub(super) fn loads_into_compiler(word: &str) -> bool {
    const OPTIONS: [&str; 9] = [
        "-wrapper",
        "-fplugin",
        "-fpass-plugin",
        "-fuse-ld=/",
        "-fuse-ld=.",
        "--ld-path",
        "--prefix",
        "-Wl,--plugin",
        "-Wl,-plugin",
    ];
    let specs = ["-specs=", "--specs="].iter().find_map(|option| word.strip_prefix(option));
    // Those of the libraries of small machines. A compiler that has none of that name would take one of the working directory.
    let is_own = |specs: &str| matches!(specs, "nano.specs" | "nosys.specs" | "rdimon.specs" | "picolibc.specs");
    OPTIONS.iter().any(|option| word.starts_with(option))
        || specs.is_some_and(|specs| !is_own(specs))
        || matches!(word, "-load" | "-specs" | "--specs")
        || (word.starts_with("-B") && !matches!(word, "-Bstatic" | "-Bdynamic" | "-Bsymbolic"))
}

/// Whether a variable names a program, or a command with its options that the rules of `make` begin with (`COMPILE.c`).
pub(super) fn is_program(name: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "AR", "AS", "CARGO", "CC", "CMP", "CO", "CP", "CPP", "CTANGLE", "CWEAVE", "CXX", "DIFF", "FC", "GET", "GO",
        "GREP", "HOSTCC", "HOSTCXX", "INSTALL", "JAVA", "LD", "LEX", "LINT", "M2C", "MAKE", "MAKEINFO", "MV", "NM",
        "NODE", "NPM", "OBJC", "OBJCOPY", "PC", "PYTHON", "RANLIB", "RM", "STRIP", "TANGLE", "TEX", "TEXI2DVI",
        "WEAVE", "YACC",
    ];
    const RULES: [&str; 6] = ["COMPILE.", "LEX.", "LINK.", "LINT.", "PREPROCESS.", "YACC."];
    PROGRAMS.contains(&name) || RULES.iter().any(|rule| name.starts_with(rule))
}

/// In the order of their bytes: each assigned variable is looked up.
pub(super) const NAMES: &[&str] = &[
    "ACKRC",
    "ACK_OPTIONS",
    "ACK_PAGER",
    "ANSIBLE_CONFIG",
    "ANT_ARGS",
    "ANT_OPTS",
    "ASAN_SYMBOLIZER_PATH",
    "AWKLIBPATH",
    "AWKPATH",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASHOPTS",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BAT_CONFIG_PATH",
    "BAT_OPTS",
    "BAT_PAGER",
    "BROWSER",
    "BUNDLE_GEMFILE",
    "BUN_OPTIONS",
    "CAML_LD_LIBRARY_PATH",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTDOC",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HOME",
    "CCACHE_COMPILER",
    "CCACHE_COMPILERCHECK",
    "CCACHE_PREFIX",
    "CCACHE_PREFIX_CPP",
    "CDPATH",
    "CLASSPATH",
    "CLOUDSDK_PYTHON",
    "CMAKE_TOOLCHAIN_FILE",
    "COMPILER_PATH",
    "CORECLR_PROFILER_PATH",
    "CTEST_INTERACTIVE_DEBUG_MODE",
    "CURL_HOME",
    "CVS_RSH",
    "DELTA_PAGER",
    "DIRSTACK",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "DOTNET_STARTUP_HOOKS",
    "EDITOR",
    "ELIXIR_ERL_OPTIONS",
    "EMACSLOADPATH",
    "ENV",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "ERL_ZFLAGS",
    "ESBUILD_BINARY_PATH",
    "EXECIGNORE",
    "EXINIT",
    "FCEDIT",
    "FPATH",
    "FZF_DEFAULT_COMMAND",
    "FZF_DEFAULT_OPTS",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GH_BROWSER",
    "GH_CONFIG_DIR",
    "GH_EDITOR",
    "GH_PAGER",
    "GIO_EXTRA_MODULES",
    "GLIBC_TUNABLES",
    "GLOBIGNORE",
    "GNUMAKEFLAGS",
    "GOAUTH",
    "GOCACHEPROG",
    "GOENV",
    "GOFLAGS",
    "GOROOT",
    "GRADLE_OPTS",
    "GST_PLUGIN_PATH",
    "GTK_MODULES",
    "GTK_PATH",
    "GUILE_LOAD_PATH",
    "HELM_PLUGINS",
    "HGEDITOR",
    "HGMERGE",
    "HGRCPATH",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVACMD",
    "JAVA_HOME",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JRUBY_OPTS",
    "JULIA_DEPOT_PATH",
    "JULIA_LOAD_PATH",
    "KRB5_CONFIG",
    "KUBECONFIG",
    "KUBECTL_EXTERNAL_DIFF",
    "KUBE_EDITOR",
    "LESS",
    "LESSCLOSE",
    "LESSECHO",
    "LESSKEYIN",
    "LESSKEYIN_SYSTEM",
    "LESSKEY_CONTENT",
    "LESSKEY_SYSTEM",
    "LESSOPEN",
    // Without it `less` runs commands at keys (`!`, `|`, `v`); sessions begin with it.
    "LESSSECURE",
    "LESSSECURE_ALLOW",
    "LLVM_SYMBOLIZER_PATH",
    "LOCPATH",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAGICK_CONFIGURE_PATH",
    "MAILPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MALLOC_TRACE",
    "MANOPT",
    "MANPAGER",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "NANORC",
    "NAPI_RS_NATIVE_LIBRARY_PATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REDIRECT_WARNINGS",
    "NODE_REPL_EXTERNAL_MODULE",
    "NVIM_APPNAME",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PERL_MM_OPT",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PIP_CONFIG_FILE",
    "PIP_PYTHON",
    "PKCS11_MODULE_PATH",
    "PKG_CONFIG",
    "PNPM_SCRIPT_SHELL",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PSQLRC",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "PWD",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "QT_PLUGIN_PATH",
    "RAKEOPT",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "RUBYSHELL",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTFMT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_LIBS",
    "R_LIBS_USER",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SASL_PATH",
    "SBT_OPTS",
    "SCREENRC",
    "SHELL",
    "SHELLOPTS",
    "SPEC_OPTS",
    "SSH_ASKPASS",
    "SSH_SK_PROVIDER",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "TAR_OPTIONS",
    "TCLLIBPATH",
    "TERMINFO",
    "TERMINFO_DIRS",
    // Older versions of bash expand the translation of `$"…"`.
    "TEXTDOMAIN",
    "TEXTDOMAINDIR",
    "TF_CLI_CONFIG_FILE",
    "TIG_SCRIPT",
    "TS_NODE_COMPILER",
    "TS_NODE_COMPILER_OPTIONS",
    "TS_NODE_PROJECT",
    "UV_CONFIG_FILE",
    "UV_PYTHON",
    "VALGRIND_LIB",
    "VALGRIND_OPTS",
    "VIMINIT",
    "VISUAL",
    "WATCHEXEC_SHELL",
    "WGETRC",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "YARN_PLUGINS",
    "YARN_RC_FILENAME",
    "YARN_YARN_PATH",
    "ZDOTDIR",
    "ZIPOPT",
    "_JAVA_OPTIONS",
    // The signs of the history: any may stand for `!`, or for the `#` of a comment.
    "histchars",
];
/// Variables that say which bytes are letters. A shell, and a terminal, may take the second byte of a letter for a `\` or a `;` in most
/// encodings but UTF-8.
const ENCODINGS: [&str; 3] = ["LANG", "LC_ALL", "LC_CTYPE"];
/// Beginnings of their names.
const FAMILIES: [&str; 8] =
    ["_gloveport", "LD_", "DYLD_", "GIT_", "BASH_FUNC_", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_"];

/// What a variable becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Becomes<'a> {
    /// This text, with the markers of [`super::argument`].
    Text(&'a str),
    /// What it was before, or none: then another says the same.
    Default,
    /// Nobody knows.
    Unknown,
}

impl<'a> Becomes<'a> {
    /// What a word of the form `name=text` makes of its variable.
    pub(super) fn of_word(word: &'a str) -> Self {
        match word.split_once('=') {
            None => Self::Default,
            // A part of it, or more of it.
            Some((name, _)) if name.contains(['+', '[']) => Self::Unknown,
            Some((_, text)) => Self::Text(text),
        }
    }
}

/// Whether later commands do something else where that variable becomes that.
pub(super) fn changes(name: &str, becomes: Becomes<'_>) -> bool {
    let is_known_encoding = match becomes {
        Becomes::Text(text) => is_plain_locale(text),
        Becomes::Default => true,
        Becomes::Unknown => false,
    };
    let is_ordinary =
        matches!(becomes, Becomes::Text(text) if ordinary::is_ordinary(name, text)) || ordinary::is_data(name);
    (is_poison(name) && !is_ordinary) || (ENCODINGS.contains(&name) && !is_known_encoding)
}

/// Whether a locale has letters whose bytes nothing else is: `C`, `POSIX`, or one that names UTF-8. One that names no encoding has one
/// of its language (`ja_JP`: EUC-JP).
fn is_plain_locale(text: &str) -> bool {
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte));
    let encoding = text.split_once('.').map(|(_, encoding)| encoding.split('@').next().unwrap_or_default());
    let is_utf8 = encoding.is_some_and(|name| ["utf-8", "utf8"].iter().any(|utf8| name.eq_ignore_ascii_case(utf8)));
    is_name && (matches!(text, "" | "C" | "POSIX") || is_utf8)
}

/// Variables that change which programs run, or what they load, whatever they become.
pub(super) fn is_poison(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
        || FAMILIES.iter().any(|prefix| name.starts_with(prefix))
        // npm does not mind the case of these.
        || name.get(..11).is_some_and(|prefix| prefix.eq_ignore_ascii_case("npm_config_"))
        || (name.starts_with("CARGO_") && ["_RUNNER", "_WRAPPER", "_LINKER", "_CREDENTIAL_PROVIDER", "_CREDENTIAL_PROVIDERS"].iter().any(|end| name.ends_with(end)))
        || (name.starts_with("CMAKE_") && name.ends_with("_LAUNCHER"))
}

/// Whether a name with the markers of [`super::argument`] may turn out to be that of such a variable; one that ends with a single
/// character that is not known may be an element of an array.
pub(super) fn may_become_poison(marked: &str) -> bool {
    if !is_marked(marked) {
        return false;
    }
    let known = marked.split(|character: char| character.is_ascii() && is_marker(character as u8)).next();
    let known = known.unwrap_or_default();
    let is_element = marked.len() == known.len() + 1 && marked.ends_with(ANY_CHARACTER) && !known.is_empty();
    if is_element {
        let is_one = |name: &&str| name.len() == marked.len() && name.starts_with(known);
        return NAMES.iter().chain(&ENCODINGS).any(is_one) || changes(known, Becomes::Unknown);
    }
    true
}
