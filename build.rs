//! Tells the linker what a Node addon leaves undefined until it is loaded.
fn main() {
    napi_build::setup();
}
