//! Where a model is computed and in which numbers.

use std::fmt;
use std::str::FromStr;

use candle_core::{DType, Device};

use super::DecoderError;

/// `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The first GPU this build knows of and that answers, else the CPU.
    #[default]
    Auto,
    /// The decoder over slices: the fastest on a CPU.
    Cpu,
    /// The decoder of the GPUs, computed on the CPU: slow, for checking it.
    CpuTensors,
    /// The n-th NVIDIA GPU.
    Cuda(usize),
    /// The GPU of a Mac.
    Metal,
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cpu:tensors" => Ok(Self::CpuTensors),
            "cuda" => Ok(Self::Cuda(0)),
            "metal" => Ok(Self::Metal),
            other => other
                .strip_prefix("cuda:")
                .and_then(|number| number.parse().ok())
                .filter(|number| *number < 1024)
                .map(Self::Cuda)
                .ok_or_else(|| format!("expected auto, cpu, cuda:N (N from 0) or metal, but {text} came")),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::CpuTensors => f.write_str("cpu:tensors"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Metal => f.write_str("metal"),
        }
    }
}

/// `--dtype`: of weights, keys and values. Norms, rotation, softmax and the residual stream are f32 always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberType {
    /// f32: the heads are trained on it.
    #[default]
    Auto,
    F32,
    Bf16,
    F16,
}

impl FromStr for NumberType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::Bf16),
            "f16" => Ok(Self::F16),
            _ => Err(format!("expected auto, f32, bf16 or f16, but {text} came")),
        }
    }
}

/// What is asked for. The default takes a GPU where the build has the feature and one answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placement {
    pub device: DeviceChoice,
    pub dtype: NumberType,
}

impl Placement {
    /// The decoder over slices in f32.
    pub const CPU: Self = Self { device: DeviceChoice::Cpu, dtype: NumberType::F32 };

    /// Whether this build could ever do it, without asking any device.
    ///
    /// # Errors
    /// [`DecoderError::NotBuilt`] and [`DecoderError::CpuNumbers`].
    pub fn check(self) -> Result<(), DecoderError> {
        let needs = |device: &str, feature: &'static str, there: bool| {
            if there { Ok(()) } else { Err(DecoderError::NotBuilt { device: device.to_owned(), feature }) }
        };
        match self.device {
            DeviceChoice::Cuda(_) => {
                needs(&self.device.to_string(), "cuda", candle_core::utils::cuda_is_available())
            }
            DeviceChoice::Metal => needs("metal", "metal", candle_core::utils::metal_is_available()),
            DeviceChoice::Cpu => match self.dtype {
                NumberType::Bf16 => Err(DecoderError::CpuNumbers { dtype: "bf16" }),
                NumberType::F16 => Err(DecoderError::CpuNumbers { dtype: "f16" }),
                NumberType::Auto | NumberType::F32 => Ok(()),
            },
            DeviceChoice::Auto | DeviceChoice::CpuTensors => Ok(()),
        }
    }

    /// Ends the names of folders that keep what was read: numbers of half precision stay apart from exact ones.
    pub fn suffix(self) -> &'static str {
        match self.dtype {
            NumberType::Auto | NumberType::F32 => "",
            NumberType::Bf16 => "-bf16",
            NumberType::F16 => "-f16",
        }
    }

    /// Asks the devices. `None`: the decoder over slices.
    pub(crate) fn resolve(self) -> Result<Option<(Device, DType)>, DecoderError> {
        self.check()?;
        let failed = |reason: candle_core::Error| DecoderError::NoDevice {
            device: self.device.to_string(),
            reason: super::reason(&reason),
        };
        let device = match self.device {
            DeviceChoice::Cpu => return Ok(None),
            DeviceChoice::CpuTensors => Device::Cpu,
            DeviceChoice::Cuda(number) => Device::new_cuda(number).map_err(failed)?,
            DeviceChoice::Metal => Device::new_metal(0).map_err(failed)?,
            DeviceChoice::Auto => match first_gpu() {
                Some(device) => device,
                None => return Self { device: DeviceChoice::Cpu, ..self }.resolve(),
            },
        };
        let dtype = match self.dtype {
            NumberType::Auto | NumberType::F32 => DType::F32,
            NumberType::Bf16 => DType::BF16,
            NumberType::F16 => DType::F16,
        };
        Ok(Some((device, dtype)))
    }
}

/// What this build finds to compute on, for people.
pub fn found_devices() -> String {
    let (cuda, metal) = (candle_core::utils::cuda_is_available(), candle_core::utils::metal_is_available());
    let answer = |name: &str, device: candle_core::Result<Device>| match device {
        Ok(_) => format!("{name} answers; so does the CPU"),
        Err(error) => format!("the CPU; {name} does not answer: {}", super::reason(&error)),
    };
    if cuda {
        answer("cuda:0", Device::new_cuda(0))
    } else if metal {
        answer("metal", Device::new_metal(0))
    } else {
        "the CPU; this build knows no GPU (docs/gpu.md says how to build one that does)".to_owned()
    }
}

/// The GPU of this build, where one answers.
fn first_gpu() -> Option<Device> {
    if candle_core::utils::cuda_is_available() {
        return Device::new_cuda(0).ok();
    }
    if candle_core::utils::metal_is_available() { Device::new_metal(0).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_number_types_are_named_as_they_are_asked_for() {
        for name in ["auto", "cpu", "cpu:tensors", "cuda:0", "cuda:3", "metal"] {
            assert_eq!(name.parse::<DeviceChoice>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:99999999999999999999", "CPU", "cpu:0"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
        assert_eq!("bf16".parse(), Ok(NumberType::Bf16));
        assert!("float32".parse::<NumberType>().is_err());
    }

    #[test]
    fn half_precision_is_refused_on_the_cpu_and_allowed_for_its_tensors() {
        let on = |device, dtype| Placement { device, dtype };
        let error = on(DeviceChoice::Cpu, NumberType::Bf16).check().unwrap_err().to_string();
        assert!(error.contains("bf16") && error.contains("--dtype f32"), "{error}");
        let resolved = on(DeviceChoice::CpuTensors, NumberType::Bf16).resolve().unwrap();
        assert_eq!(resolved.unwrap().1, DType::BF16);
        assert!(Placement::CPU.resolve().unwrap().is_none());
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_gpu_this_build_knows_nothing_of_is_refused_with_the_build_that_would() {
        let asked = Placement { device: DeviceChoice::Cuda(1), dtype: NumberType::Auto };
        let error = asked.check().unwrap_err().to_string();
        assert!(
            error.contains("cuda:1") && error.contains("cargo build --release --features cuda"),
            "{error}"
        );
    }
}
