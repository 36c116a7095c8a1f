//! Which instructions are missing or wrong in rspirv's tables?
//!
//! Instructions missing from rspirv's tables come from `spirv.core.grammar.json` of SPIRV-Headers 1.6.7 (2026-08);
//! those that Intel has not published come from `spirv_internal.hpp` and `SPIRVInstruction.h` of the SPIR-V/LLVM
//! translator (2026-08), where a template's literal indices tell ids from literals.

/// Instructions that rspirv's tables lack: opcode, name and signature. In a signature `T` is the result type, `R` the
/// result, `I` an id, `i` an optional id, `*` ids to the end, `L` a literal, `N` literals to the end, `M` memory
/// access, `O` image operands.
#[rustfmt::skip]
pub(super) const MISSING: &[(u16, &str, &str)] = &[
    (4195, "BitcastExtractEXT", "TRII"),
    (4545, "ImageGatherQCOM", "TRIIIIO"),
    (5121, "AbortKHR", "II"),
    (5147, "ConstantDataKHR", "TRN"),
    (5148, "SpecConstantDataKHR", "TRN"),
    (5158, "PoisonKHR", "TR"),
    (5159, "FreezeKHR", "TRI"),
    (5363, "CooperativeMatrixGetCoordinateEXT", "TRII"),
    (5946, "ReadPipeBlockingALTERA", "IIII"),
    (5947, "WritePipeBlockingALTERA", "IIII"),
    (6096, "CompositeConstructContinuedINTEL", "*"),
    (6113, "TypeTokenINTEL", "R"),
    (6168, "FSigmoidINTEL", "TRI"),
    (6193, "CooperativeMatrixLoadCheckedINTEL", "TRIIIIIIiM"),
    (6194, "CooperativeMatrixStoreCheckedINTEL", "IIIIIIIiM"),
    (6195, "CooperativeMatrixConstructCheckedINTEL", "TRIIIII"),
    (6216, "ClampConvertFToFINTEL", "TRI"),
    (6217, "StochasticRoundFToFINTEL", "TRIIi"),
    (6218, "ClampStochasticRoundFToFINTEL", "TRIIi"),
    (6219, "ClampStochasticRoundFToSINTEL", "TRIIi"),
    (6239, "CooperativeMatrixLoadOffsetINTEL", "TRIIIIIM"),
    (6240, "CooperativeMatrixStoreOffsetINTEL", "IIIIIIM"),
    (6258, "PredicatedLoadINTEL", "TRIIIM"),
    (6259, "PredicatedStoreINTEL", "IIIM"),
    (6264, "SubgroupScaledMatrixMultiplyAccumulateINTEL", "TRIIIIIIL"),
    (6424, "ClampConvertFToSINTEL", "TRI"),
    (6440, "JointMatrixGetElementCoordINTEL", "TRII"),
    (6448, "CooperativeMatrixApplyFunctionINTEL", "TRII"),
    (6449, "CooperativeMatrixPrefetchINTEL", "IIILIi"),
    (6916, "FDot2MixAcc32VALVE", "TRIII"),
    (6917, "FDot2MixAcc16VALVE", "TRIII"),
    (6918, "FDot4MixAcc32VALVE", "TRIII"),
];

/// Opcodes to which rspirv's tables give a result that they do not have.
#[cfg(test)]
pub(super) const WITHOUT_RESULT: &[u16] = &[5946, 5947, 6096];
