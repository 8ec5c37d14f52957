//! A serde serializer whose output is cells. It is not `human_readable`, so that an [`Array`](super::Array) is
//! serialized as plain lists and needs no special case.

use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};
use serde_json::{Error, Number, Value};

use super::Cell;

type Result<T = ()> = std::result::Result<T, Error>;

/// Appends the cells of one value; `field` and `index` locate it in the measurement.
pub struct Cells<'a> {
    field: String,
    index: Vec<usize>,
    out: &'a mut Vec<Cell>,
}

impl<'a> Cells<'a> {
    pub fn new(out: &'a mut Vec<Cell>) -> Self {
        Self { field: String::new(), index: vec![], out }
    }

    fn cell(self, value: impl ToString) -> Result {
        self.out.push(Cell { field: self.field, index: self.index, value: value.to_string() });
        Ok(())
    }

    fn parts(self) -> Parts<'a> {
        Parts { around: self, len: 0, key: String::new(), fields: vec![] }
    }

    /// A serializer for the value of an enum's variant, which is in a field of the variant's name.
    fn for_variant(mut self, variant: &str) -> Self {
        self.field = inner(&self.field, variant);
        self
    }
}

fn inner(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}

/// The items of a list, or the fields of a struct or a map, which come out by name.
pub struct Parts<'a> {
    around: Cells<'a>,
    len: usize,
    key: String,
    fields: Vec<(String, Vec<Cell>)>,
}

impl Parts<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result {
        let index = self.around.index.iter().copied().chain([self.len]).collect();
        self.len += 1;
        item.serialize(Cells { field: self.around.field.clone(), index, out: self.around.out })
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result {
        let mut out = vec![];
        let (field, index) = (inner(&self.around.field, name), self.around.index.clone());
        value.serialize(Cells { field, index, out: &mut out })?;
        self.fields.push((name.to_owned(), out));
        Ok(())
    }

    fn finish(mut self) -> Result {
        self.fields.sort_by(|a, b| a.0.cmp(&b.0));
        self.around.out.extend(self.fields.into_iter().flat_map(|(_, cells)| cells));
        Ok(())
    }
}

macro_rules! displayed {
    ($($method:ident($ty:ty)),+) => { $(
        fn $method(self, v: $ty) -> Result {
            self.cell(v)
        }
    )+ };
}

macro_rules! parted {
    ($($method:ident($($ty:ty),+)),+) => { $(
        fn $method(self, $(_: $ty),+) -> Result<Parts<'a>> {
            Ok(self.parts())
        }
    )+ };
}

impl<'a> Serializer for Cells<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fn is_human_readable(&self) -> bool {
        false
    }

    displayed! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_f32(f32),
        serialize_char(char), serialize_str(&str)
    }

    /// Follows JSON: a number that is not finite is text.
    fn serialize_f64(self, v: f64) -> Result {
        match Number::from_f64(v) {
            Some(number) => self.cell(number),
            None => self.cell(v),
        }
    }

    fn serialize_bytes(self, v: &[u8]) -> Result {
        v.serialize(self)
    }

    fn serialize_none(self) -> Result {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.cell(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result {
        value.serialize(self.for_variant(variant))
    }

    parted! {
        serialize_seq(Option<usize>), serialize_tuple(usize), serialize_tuple_struct(&'static str, usize),
        serialize_map(Option<usize>), serialize_struct(&'static str, usize)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Parts<'a>> {
        Ok(self.for_variant(variant).parts())
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Parts<'a>> {
        Ok(self.for_variant(variant).parts())
    }
}

macro_rules! lists {
    ($($kind:ident::$item:ident),+) => { $(
        impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
                self.item(value)
            }

            fn end(self) -> Result {
                Ok(())
            }
        }
    )+ };
}
lists! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element, SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($kind:ident),+) => { $(
        impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result {
                self.field(name, value)
            }

            fn end(self) -> Result {
                self.finish()
            }
        }
    )+ };
}
structs! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        self.key = match serde_json::to_value(key)? {
            Value::String(name) => name,
            other => other.to_string(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let name = std::mem::take(&mut self.key);
        self.field(&name, value)
    }

    fn end(self) -> Result {
        self.finish()
    }
}
