//! SHA-256 (FIPS 180-4), for the names of images: whose runtime is described by others must not share one with theirs, and two texts
//! of one MD5 are cheap. Some kilobytes a build, nothing secret: plain and small, and no dependency for it.

/// The fractions of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
    0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
    0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
    0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
    0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
    0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
    0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
];
/// The fractions of the square roots of the first eight.
const START: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
/// Bytes that are mixed in at once.
const BLOCK: usize = 64;

/// The digest, as hexadecimal digits.
pub(super) fn sha256(text: &[u8]) -> String {
    let mut padded = text.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(BLOCK) - 8, 0);
    padded.extend((text.len() as u64 * 8).to_be_bytes());
    let (blocks, _) = padded.as_chunks::<BLOCK>();
    let state = blocks.iter().fold(START, mixed);
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// The state after one more block.
fn mixed(state: [u32; 8], block: &[u8; BLOCK]) -> [u32; 8] {
    let mut words = [0_u32; 64];
    let (given, _) = block.as_chunks::<4>();
    for (word, bytes) in words.iter_mut().zip(given) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..words.len() {
        let (early, late) = (words[at - 15], words[at - 2]);
        let first = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let second = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[at] = words[at - 16].wrapping_add(first).wrapping_add(words[at - 7]).wrapping_add(second);
    }
    let mut round = state;
    for (word, constant) in words.iter().zip(ROUNDS) {
        let [a, b, c, d, e, f, g, h] = round;
        let chosen = (e & f) ^ (!e & g);
        let first = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add(chosen)
            .wrapping_add(constant)
            .wrapping_add(*word);
        let most = (a & b) ^ (a & c) ^ (b & c);
        let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(most);
        round = [first.wrapping_add(second), a, b, c, d.wrapping_add(first), e, f, g];
    }
    std::array::from_fn(|at| state[at].wrapping_add(round[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_digests_of_the_standard() {
        let million = "a".repeat(1_000_000);
        for (text, digest) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (&*"x".repeat(55), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"),
            (&*"x".repeat(56), "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"),
            (&*"x".repeat(64), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"),
            (&*million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            assert_eq!(sha256(text.as_bytes()), digest, "{} bytes", text.len());
        }
    }
}
