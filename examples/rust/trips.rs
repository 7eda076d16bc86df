//! trips [DEVICE]: cities by the sum of their prices, computed on a device through `cdevice.h`. No crate is needed: the
//! functions are declared as the header has them, and a few types of Rust own what they return.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fmt;
use std::ptr;

/// The parts of `cdevice.h` and of Arrow's C data interface that this program uses.
mod ffi {
    use super::*;

    #[repr(C)]
    pub struct Array {
        _opaque: [u8; 0],
    }
    #[repr(C)]
    pub struct Schema {
        _opaque: [u8; 0],
    }
    /// cdevice_array_parts
    #[repr(C)]
    pub struct Parts {
        pub device_type: i32,
        pub device_id: i64,
        pub length: i64,
        pub offset: i64,
        pub null_count: i64,
        pub n_buffers: i64,
        pub buffers: *const *const c_void,
        pub n_children: i64,
        pub children: *const *mut Array,
        pub dictionary: *mut Array,
        pub sync_event: *mut c_void,
        pub release: Option<unsafe extern "C" fn(*mut c_void)>,
        pub owner: *mut c_void,
    }
    #[repr(C)]
    pub struct ArrowArray {
        pub length: i64,
        pub null_count: i64,
        pub offset: i64,
        pub n_buffers: i64,
        pub n_children: i64,
        pub buffers: *mut *const c_void,
        pub children: *mut *mut ArrowArray,
        pub dictionary: *mut ArrowArray,
        pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
        pub private_data: *mut c_void,
    }
    #[repr(C)]
    pub struct ArrowDeviceArray {
        pub array: ArrowArray,
        pub device_id: i64,
        pub device_type: i32,
        pub sync_event: *mut c_void,
        pub reserved: [i64; 3],
    }
    pub const CPU: i32 = 1;
    pub const CHECK_FULL: c_int = 2;

    #[link(name = "cdevice")]
    extern "C" {
        pub fn cdevice_error_text() -> *const c_char;
        pub fn cdevice_find_device(name: *const c_char, device_type: *mut i32, id: *mut i64) -> c_int;
        pub fn cdevice_schema_new(
            format: *const c_char,
            name: *const c_char,
            flags: i64,
            n_children: i64,
            children: *const *mut Schema,
            dictionary: *mut Schema,
            out: *mut *mut Schema,
        ) -> c_int;
        pub fn cdevice_schema_unref(schema: *mut Schema);
        pub fn cdevice_array_build(
            schema: *mut Schema,
            parts: *const Parts,
            check: c_int,
            out: *mut *mut Array,
        ) -> c_int;
        pub fn cdevice_array_copy(
            array: *mut Array,
            device_type: i32,
            id: i64,
            stream: *mut c_void,
            always: c_int,
            out: *mut *mut Array,
        ) -> c_int;
        pub fn cdevice_array_export(array: *mut Array, out: *mut ArrowDeviceArray) -> c_int;
        pub fn cdevice_array_schema(array: *const Array) -> *mut Schema;
        pub fn cdevice_array_length(array: *const Array) -> i64;
        pub fn cdevice_array_ref(array: *mut Array) -> *mut Array;
        pub fn cdevice_array_unref(array: *mut Array);
        pub fn cdevice_call(
            name: *const c_char,
            arguments: *const *mut Array,
            n: i64,
            options: *const c_char,
            out: *mut *mut Array,
        ) -> c_int;
    }
}

/// An errno-compatible code, and the reason.
#[derive(Debug)]
struct Error {
    code: i32,
    text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.code)
    }
}

/// The text belongs to this thread until its next error, so it is copied at once.
fn check(code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(ffi::cdevice_error_text()) };
    Err(Error {
        code,
        text: text.to_string_lossy().into_owned(),
    })
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("a text without a zero byte")
}

/// One reference to an array or a batch. Arrays are immutable, and every function may be called from any thread.
struct Array(*mut ffi::Array);

unsafe impl Send for Array {}
unsafe impl Sync for Array {}

impl Drop for Array {
    fn drop(&mut self) {
        unsafe { ffi::cdevice_array_unref(self.0) }
    }
}

impl Clone for Array {
    fn clone(&self) -> Array {
        Array(unsafe { ffi::cdevice_array_ref(self.0) })
    }
}

/// Drops what an array was built over, on the thread that released it.
unsafe extern "C" fn drop_owner<T>(owner: *mut c_void) {
    drop(Box::from_raw(owner as *mut T));
}

impl Array {
    /// Over memory that `owner` keeps, which is dropped when the last holder of the array is done with it.
    fn build<T>(
        format: &str,
        name: &str,
        length: usize,
        buffers: &[*const c_void],
        children: &[Array],
        owner: Box<T>,
    ) -> Result<Array, Error> {
        let mut schema = ptr::null_mut();
        let fields: Vec<_> = children
            .iter()
            .map(|c| unsafe { ffi::cdevice_array_schema(c.0) })
            .collect();
        let handles: Vec<_> = children.iter().map(|c| c.0).collect();
        let (format, name) = (c_string(format), c_string(name));
        check(unsafe {
            ffi::cdevice_schema_new(
                format.as_ptr(),
                name.as_ptr(),
                0,
                fields.len() as i64,
                fields.as_ptr(),
                ptr::null_mut(),
                &mut schema,
            )
        })?;
        let owner = Box::into_raw(owner);
        let parts = ffi::Parts {
            device_type: ffi::CPU,
            device_id: -1,
            length: length as i64,
            offset: 0,
            null_count: 0,
            n_buffers: buffers.len() as i64,
            buffers: buffers.as_ptr(),
            n_children: children.len() as i64,
            children: handles.as_ptr(),
            dictionary: ptr::null_mut(),
            sync_event: ptr::null_mut(),
            release: Some(drop_owner::<T>),
            owner: owner as *mut c_void,
        };
        let mut out = ptr::null_mut();
        let made = check(unsafe { ffi::cdevice_array_build(schema, &parts, ffi::CHECK_FULL, &mut out) });
        unsafe { ffi::cdevice_schema_unref(schema) };
        if made.is_err() {
            drop(unsafe { Box::from_raw(owner) }); // after an error it is still the caller's
        }
        made.map(|()| Array(out))
    }

    fn of_doubles(name: &str, rows: Vec<f64>) -> Result<Array, Error> {
        let rows = Box::new(rows);
        Array::build(
            "g",
            name,
            rows.len(),
            &[ptr::null(), rows.as_ptr() as *const c_void],
            &[],
            rows,
        )
    }

    fn of_strings(name: &str, rows: &[&str]) -> Result<Array, Error> {
        let mut offsets = vec![0i32];
        let mut bytes = String::new();
        for row in rows {
            bytes.push_str(row);
            offsets.push(bytes.len() as i32);
        }
        let kept = Box::new((offsets, bytes));
        let buffers = [
            ptr::null(),
            kept.0.as_ptr() as *const c_void,
            kept.1.as_ptr() as *const c_void,
        ];
        Array::build("u", name, rows.len(), &buffers, &[], kept)
    }

    fn batch(columns: &[Array]) -> Result<Array, Error> {
        let rows = columns.first().map_or(0, Array::len);
        Array::build("+s", "", rows, &[ptr::null()], columns, Box::new(()))
    }

    fn len(&self) -> usize {
        unsafe { ffi::cdevice_array_length(self.0) as usize }
    }

    /// Blocks where the target is the CPU.
    fn copy_to(&self, device: (i32, i64)) -> Result<Array, Error> {
        let mut out = ptr::null_mut();
        check(unsafe { ffi::cdevice_array_copy(self.0, device.0, device.1, ptr::null_mut(), 0, &mut out) })?;
        Ok(Array(out))
    }
}

/// A function by its name, with options as JSON. Blocks as the function does.
fn call(name: &str, arguments: &[&Array], options: &str) -> Result<Array, Error> {
    let handles: Vec<_> = arguments.iter().map(|a| a.0).collect();
    let (name, options, mut out) = (c_string(name), c_string(options), ptr::null_mut());
    check(unsafe {
        ffi::cdevice_call(
            name.as_ptr(),
            handles.as_ptr(),
            handles.len() as i64,
            options.as_ptr(),
            &mut out,
        )
    })?;
    Ok(Array(out))
}

/// Prints columns of text and of doubles. The struct is released at the end, also where a print panics.
fn print(table: &Array) -> Result<(), Error> {
    struct Exported(ffi::ArrowDeviceArray);
    impl Drop for Exported {
        fn drop(&mut self) {
            if let Some(release) = self.0.array.release {
                unsafe { release(&mut self.0.array) }
            }
        }
    }
    let here = table.copy_to((ffi::CPU, -1))?;
    let mut out = Exported(unsafe { std::mem::zeroed() });
    check(unsafe { ffi::cdevice_array_export(here.0, &mut out.0) })?;
    for i in 0..here.len() {
        unsafe {
            let columns = out.0.array.children;
            let (city, sum) = (&**columns, &**columns.add(1));
            let offsets = (*city.buffers.add(1) as *const i32).add(city.offset as usize + i);
            let bytes = (*city.buffers.add(2) as *const u8).add(*offsets as usize);
            let name = std::slice::from_raw_parts(bytes, (*offsets.add(1) - *offsets) as usize);
            let price = *(*sum.buffers.add(1) as *const f64).add(sum.offset as usize + i);
            println!("{:<8} {:>8.2}", String::from_utf8_lossy(name), price);
        }
    }
    Ok(())
}

fn run(device: &str) -> Result<(), Error> {
    let (mut device_type, mut id) = (0, 0);
    check(unsafe { ffi::cdevice_find_device(c_string(device).as_ptr(), &mut device_type, &mut id) })?;
    let trips = Array::batch(&[
        Array::of_strings(
            "city",
            &["Narvik", "Bergen", "Narvik", "Oslo", "Bergen", "Narvik", "Oslo"],
        )?,
        Array::of_doubles("price", vec![4.5, 12.0, 7.5, 3.25, 8.0, 6.0, 2.75])?,
    ])?
    .copy_to((device_type, id))?;
    let same = trips.clone(); // another reference: nothing is copied
    drop(trips);
    let dear = call("filter", &[&same], r#"{"where": "price > 3"}"#)?;
    let cities = call(
        "group_by",
        &[&dear],
        r#"{"keys": ["city"], "aggregations": [["price", "sum"]]}"#,
    )?;
    print(&call(
        "sort_by",
        &[&cities],
        r#"{"sort_keys": [["price_sum", "descending"]]}"#,
    )?)
}

fn main() {
    let device = std::env::args().nth(1).unwrap_or_else(|| "cpu".into());
    if let Err(e) = run(&device) {
        eprintln!("trips: {e}");
        std::process::exit(1);
    }
}
