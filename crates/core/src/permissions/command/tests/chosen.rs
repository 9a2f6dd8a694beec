//! Words by which a program does less than its name says, or starts what is named behind it.

use super::*;

#[test]
fn a_program_that_changes_the_machine_may_tell_of_it() {
    for command in [
        "systemctl status nginx",
        "systemctl --user --no-pager -l status x.service y",
        "systemctl list-units --type=service --state=running",
        "systemctl is-active x; systemctl show x",
        "crontab -l",
        "mount -l",
        "iptables -L",
        "iptables -nvL --line-numbers",
        "ip6tables -t nat -L INPUT -n",
        "iptables -S",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "systemctl",
        "systemctl stop x",
        "systemctl --no-pager stop status",
        "systemctl -H other status x",
        "systemctl --host=other status",
        "systemctl $x",
        "systemctl status $x",
        "systemctl edit x",
        "crontab",
        "crontab -l -r",
        "crontab -lr",
        "crontab x",
        "mount -l -o remount,rw /",
        "mount -a",
        "iptables",
        "iptables -F",
        "iptables -L -Z",
        "iptables -ZL",
        "iptables -L x -F y",
        "iptables -t nat",
        "iptables -n -v",
        "lsmod",
        "sudo systemctl status x",
    ] {
        assert_eq!(action(command), Action::Deny, "{command}");
    }
}

#[test]
fn what_a_runner_starts_with_something_is_what_is_judged() {
    for command in [
        "uv run --with httpx pytest -q",
        "uv run --python 3.12 --with='a[b]==1.2' pytest",
        "npx -p typescript tsc --noEmit",
        "npx --package=@scope/tool@1 -y tool",
        "npm exec -p typescript -- tsc",
        "conda run -n env pytest",
        "rsync -e ssh -a a host:b",
        "rsync -avze ssh a host:b",
        "rsync --rsh=ssh a host:b",
        "rsync -a file host:b; rsync -a e - | cat",
        "tar -I zstd -cf a.tar.zst src",
        "tar --use-compress-program=pigz -cf a.tgz src",
        "BROWSER=none npm start",
        "PYTEST_ADDOPTS='-x -q --tb=short' pytest",
        "git config get user.name",
        "bash tests/*.sh",
        "sh -e ./t?.sh x",
        "PYTHONPATH=$PWD/src pytest",
        "PYTHONPATH=src:$PWD true; NODE_PATH=$PWD/lib node a.js",
    ] {
        assert_eq!(action(command), Action::Allow, "{command}");
    }
    for command in [
        "uv run --with httpx $x",
        "uv run --with ./evil pytest",
        "uv run --with evil.whl pytest",
        "uv run --with 'a @ file:x' pytest",
        "uv run --with \"$x\" pytest",
        "uv run --with-editable x pytest",
        "npx -p a/b tsc",
        "npx -p x.tgz tsc",
        "npx -p x -c 'touch y'",
        "conda run -p ./evil ls",
        "conda run -n x \"$y\"",
        "rsync -e ./x a host:b",
        "rsync -e 'ssh -o ProxyCommand=x' a host:b",
        "rsync -ee ssh a host:b",
        "rsync -ex ssh a host:b",
        "rsync -a -e \"$x\" a host:b",
        "rsync --rsh 'ssh -F x' a host:b",
        "rsync --rs=./x a host:b",
        "rsync --rsync-path=x -e ssh a host:b",
        "tar -I ./x -cf a src",
        "tar -I 'zstd -19; x' -cf a src",
        "tar -cI zstd -f a src",
        "tar -I zstd -F ./x -cf a src",
        "tar --use-compress-program=./pigz -cf a src",
        "tar --use-compress-program=\"$x\" -cf a src",
        "BROWSER=./x npm start",
        "PYTEST_ADDOPTS='-p evil' pytest",
        "PYTEST_ADDOPTS=-c=x pytest",
        "git config get core.editor x",
        "bash *.sh",
        "bash -*",
        "bash /dev/fd/*",
        "bash tests/$x",
        "bash -c tests/*.sh",
        "bash ?c x",
        "PYTHONPATH=$PWD/../x pytest",
        "PYTHONPATH=$PWD/src:/tmp pytest",
        "PYTHONPATH=${PWD}x pytest",
        "cd src; PYTHONPATH=$PWD pytest",
        "PATH=$PWD/bin:x ls",
        "git config core.editor x",
    ] {
        assert_eq!(action(command), Action::Ask, "{command}");
    }
    for command in ["uv run --with x sudo ls", "npx -p x rm -rf /", "conda run -n x -- sudo ls"] {
        assert_eq!(action(command), Action::Deny, "{command}");
    }
}
