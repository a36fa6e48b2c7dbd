//! A reader of pprof's format, from the description of its messages.

use std::io::Read;

use flate2::read::GzDecoder;

/// A profile, as far as tests look at it.
#[derive(Debug, Default)]
pub(crate) struct Pprof {
    /// Names of the values of a sample.
    pub(crate) types: Vec<String>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) comments: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Sample {
    /// Function, file and line of each frame, innermost first.
    pub(crate) stack: Vec<(String, String, u64)>,
    pub(crate) values: Vec<u64>,
    pub(crate) labels: Vec<(String, String)>,
}

/// A field of a message: number, and value.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Pprof {
    pub(crate) fn read(gz: &[u8]) -> Self {
        let mut bytes = Vec::new();
        GzDecoder::new(gz).read_to_end(&mut bytes).unwrap();
        let fields = fields(&bytes);
        let all = |number| messages(&fields, number);
        let strings: Vec<String> = all(6)
            .map(|text| str::from_utf8(text).unwrap().to_owned())
            .collect();
        assert_eq!(strings[0], "");
        let text = |number: u64| strings[usize::try_from(number).unwrap()].clone();
        // Numbers of things are their places, from 1.
        let at = |id: u64| usize::try_from(id).unwrap() - 1;
        let functions: Vec<(String, String)> = all(5)
            .map(|message| (text(number(message, 2)), text(number(message, 4))))
            .collect();
        let mappings = all(3).count();
        let locations: Vec<(String, String, u64)> = all(4)
            .map(|message| {
                assert!(at(number(message, 2)) < mappings);
                let parts = self::fields(message);
                let line = messages(&parts, 4).next().unwrap();
                let (function, file) = functions[at(number(line, 1))].clone();
                (function, file, number(line, 2))
            })
            .collect();
        let samples = all(2).map(|message| {
            let parts = self::fields(message);
            let labels = messages(&parts, 3);
            Sample {
                stack: numbers(&parts, 1)
                    .into_iter()
                    .map(|id| locations[at(id)].clone())
                    .collect(),
                values: numbers(&parts, 2),
                labels: labels
                    .map(|label| (text(number(label, 1)), text(number(label, 2))))
                    .collect(),
            }
        });
        Self {
            types: all(1).map(|message| text(number(message, 1))).collect(),
            samples: samples.collect(),
            comments: numbers(&fields, 13).into_iter().map(text).collect(),
        }
    }

    /// The sum of a value over all samples.
    pub(crate) fn total(&self, name: &str) -> u64 {
        let place = self.types.iter().position(|of| of == name).unwrap();
        self.samples.iter().map(|sample| sample.values[place]).sum()
    }
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(value)
            }
            kind => panic!("no field of this format has kind {kind}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first < 0x80 {
            return value;
        }
    }
    panic!("a number is too long")
}

fn messages<'a>(
    fields: &'a [(u64, Value<'a>)],
    number: u64,
) -> impl Iterator<Item = &'a [u8]> + 'a {
    fields.iter().filter_map(move |(of, value)| match value {
        Value::Bytes(bytes) if *of == number => Some(*bytes),
        _ => None,
    })
}

/// A number of a message; 0 if it is not there.
fn number(message: &[u8], field: u64) -> u64 {
    let fields = fields(message);
    let number = fields.iter().find_map(|(of, value)| match value {
        Value::Number(number) if *of == field => Some(*number),
        _ => None,
    });
    number.unwrap_or(0)
}

/// Numbers of a field that has several, packed or not.
fn numbers(fields: &[(u64, Value<'_>)], field: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    for (_, value) in fields.iter().filter(|(of, _)| *of == field) {
        match value {
            Value::Number(number) => numbers.push(*number),
            Value::Bytes(packed) => {
                let mut packed = *packed;
                while !packed.is_empty() {
                    numbers.push(varint(&mut packed));
                }
            }
        }
    }
    numbers
}
