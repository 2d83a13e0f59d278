//! Hashes as text.

/// Two lower-case digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_becomes_two_digits() {
        assert_eq!(hex(&[0x00, 0x09, 0x0a, 0x9f, 0xff]), "00090a9fff");
        assert_eq!(hex(&[]), "");
    }
}
