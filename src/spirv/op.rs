//! Which opcode numbers does the code here match by name?
//!
//! Instructions keep their opcode as a number, so unknown opcodes need no special case; these constants are for
//! matching.

use rspirv::spirv::Op;

/// Linkage of a function that only its module sees: llvm-spirv writes it at functions of its own
/// (`internal::LinkageTypeInternal` in KhronosGroup/SPIRV-LLVM-Translator). Drivers take it.
pub(crate) const LINKAGE_INTERNAL: u32 = 0x7fff_fffe;

/// Decorations of a device global: `HostAccessINTEL`, and the number that it had before it was published, which DPC++ writes. Behind the
/// access stands the name by which the host looks for the variable.
pub(crate) const HOST_ACCESS: [u32; 2] = [6188, 6147];

macro_rules! opcodes {
    ($($name:ident = $op:ident,)*) => {
        $(#[allow(missing_docs, reason = "the name is the specification's")] pub(crate) const $name: u16 = Op::$op as u16;)*
    };
}

opcodes! {
    UNDEF = Undef,
    SOURCE_CONTINUED = SourceContinued,
    SOURCE = Source,
    SOURCE_EXTENSION = SourceExtension,
    NAME = Name,
    MEMBER_NAME = MemberName,
    STRING = String,
    LINE = Line,
    NO_LINE = NoLine,
    EXTENSION = Extension,
    EXT_INST_IMPORT = ExtInstImport,
    EXT_INST = ExtInst,
    GROUP_ASYNC_COPY = GroupAsyncCopy,
    MEMORY_MODEL = MemoryModel,
    ENTRY_POINT = EntryPoint,
    EXECUTION_MODE = ExecutionMode,
    EXECUTION_MODE_ID = ExecutionModeId,
    CAPABILITY = Capability,
    TYPE_VOID = TypeVoid,
    TYPE_BOOL = TypeBool,
    TYPE_INT = TypeInt,
    TYPE_FLOAT = TypeFloat,
    TYPE_VECTOR = TypeVector,
    TYPE_MATRIX = TypeMatrix,
    TYPE_IMAGE = TypeImage,
    TYPE_SAMPLER = TypeSampler,
    TYPE_SAMPLED_IMAGE = TypeSampledImage,
    TYPE_ARRAY = TypeArray,
    TYPE_RUNTIME_ARRAY = TypeRuntimeArray,
    TYPE_STRUCT = TypeStruct,
    TYPE_OPAQUE = TypeOpaque,
    TYPE_POINTER = TypePointer,
    TYPE_FUNCTION = TypeFunction,
    TYPE_EVENT = TypeEvent,
    TYPE_DEVICE_EVENT = TypeDeviceEvent,
    TYPE_RESERVE_ID = TypeReserveId,
    TYPE_QUEUE = TypeQueue,
    TYPE_PIPE = TypePipe,
    TYPE_FORWARD_POINTER = TypeForwardPointer,
    TYPE_PIPE_STORAGE = TypePipeStorage,
    TYPE_NAMED_BARRIER = TypeNamedBarrier,
    TYPE_UNTYPED_POINTER = TypeUntypedPointerKHR,
    TYPE_COOPERATIVE_MATRIX = TypeCooperativeMatrixKHR,
    TYPE_STRUCT_CONTINUED = TypeStructContinuedINTEL,
    CONSTANT_TRUE = ConstantTrue,
    CONSTANT_FALSE = ConstantFalse,
    CONSTANT = Constant,
    CONSTANT_COMPOSITE = ConstantComposite,
    CONSTANT_NULL = ConstantNull,
    SPEC_CONSTANT_TRUE = SpecConstantTrue,
    SPEC_CONSTANT_FALSE = SpecConstantFalse,
    SPEC_CONSTANT = SpecConstant,
    SPEC_CONSTANT_COMPOSITE = SpecConstantComposite,
    SPEC_CONSTANT_OP = SpecConstantOp,
    CONSTANT_COMPOSITE_CONTINUED = ConstantCompositeContinuedINTEL,
    SPEC_CONSTANT_COMPOSITE_CONTINUED = SpecConstantCompositeContinuedINTEL,
    CONSTANT_FUNCTION_POINTER = ConstantFunctionPointerINTEL,
    FUNCTION_POINTER_CALL = FunctionPointerCallINTEL,
    FUNCTION = Function,
    FUNCTION_PARAMETER = FunctionParameter,
    FUNCTION_END = FunctionEnd,
    FUNCTION_CALL = FunctionCall,
    VARIABLE = Variable,
    LOAD = Load,
    STORE = Store,
    ACCESS_CHAIN = AccessChain,
    IN_BOUNDS_ACCESS_CHAIN = InBoundsAccessChain,
    PTR_ACCESS_CHAIN = PtrAccessChain,
    IN_BOUNDS_PTR_ACCESS_CHAIN = InBoundsPtrAccessChain,
    IMAGE_FETCH = ImageFetch,
    IMAGE_GATHER = ImageGather,
    IMAGE = Image,
    UNTYPED_VARIABLE = UntypedVariableKHR,
    LABEL = Label,
    BRANCH = Branch,
    BRANCH_CONDITIONAL = BranchConditional,
    SWITCH = Switch,
    DECORATE = Decorate,
    MEMBER_DECORATE = MemberDecorate,
    MEMBER_DECORATE_STRING = MemberDecorateString,
    DECORATE_ID = DecorateId,
    DECORATE_STRING = DecorateString,
    DECORATION_GROUP = DecorationGroup,
    GROUP_DECORATE = GroupDecorate,
    GROUP_MEMBER_DECORATE = GroupMemberDecorate,
    ATOMIC_LOAD = AtomicLoad,
    ATOMIC_STORE = AtomicStore,
    ATOMIC_EXCHANGE = AtomicExchange,
    ATOMIC_XOR = AtomicXor,
    ATOMIC_F_MIN = AtomicFMinEXT,
    ATOMIC_F_MAX = AtomicFMaxEXT,
    ATOMIC_F_ADD = AtomicFAddEXT,
    READ_CLOCK = ReadClockKHR,
    NON_UNIFORM_I_ADD = GroupNonUniformIAdd,
    NON_UNIFORM_LOGICAL_XOR = GroupNonUniformLogicalXor,
    SUBGROUP_MATRIX_MULTIPLY_ACCUMULATE = SubgroupMatrixMultiplyAccumulateINTEL,
    CONVERT_HANDLE_TO_IMAGE = ConvertHandleToImageINTEL,
    CONVERT_HANDLE_TO_SAMPLER = ConvertHandleToSamplerINTEL,
    CONVERT_HANDLE_TO_SAMPLED_IMAGE = ConvertHandleToSampledImageINTEL,
    ASM_TARGET = AsmTargetINTEL,
    ASM = AsmINTEL,
    ASM_CALL = AsmCallINTEL,
    MODULE_PROCESSED = ModuleProcessed,
    VARIABLE_LENGTH_ARRAY = VariableLengthArrayINTEL,
    UNTYPED_VARIABLE_LENGTH_ARRAY = UntypedVariableLengthArrayINTEL,
}

/// `SubgroupScaledMatrixMultiplyAccumulateINTEL`, which Intel has not published.
pub(crate) const SUBGROUP_SCALED_MATRIX_MULTIPLY_ACCUMULATE: u16 = 6264;

/// Whether an instruction continues the definition before it.
pub(crate) fn continues_definition(opcode: u16) -> bool {
    matches!(opcode, TYPE_STRUCT_CONTINUED | CONSTANT_COMPOSITE_CONTINUED | SPEC_CONSTANT_COMPOSITE_CONTINUED)
}
