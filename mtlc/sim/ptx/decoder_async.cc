// Asynchronous copies and mbarriers.

#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {

bool FunctionDecoder::asyncAddress(const Operand& o, Space asked, AsyncAddress& out) {
  Instr one;
  if (!memoryOperand(o, asked, false, one)) return false;
  out.base = one.src[0];
  out.offset = one.imm;
  out.space = one.space;
  return true;
}

void FunctionDecoder::emitAsync(AsyncSite site, Ref dst) {
  Instr out;
  out.op = Op::async;
  out.guard = guard_;
  out.dst = dst;
  out.size = static_cast<uint8_t>(std::min<uint32_t>(site.bytes, 128));
  for (Ref r : {site.to.base, site.from.base, site.barrier.base, site.map.base, site.amount,
                site.ignore, site.multicast, site.byteMask}) {
    if (r != kNoRef) site.reads.push_back(r);
  }
  site.reads.insert(site.reads.end(), site.coordinates.begin(), site.coordinates.end());
  // For traces: the first ones.
  for (size_t i = 0; i < 4 && i < site.reads.size(); ++i) out.src[i] = site.reads[i];
  out.ext = static_cast<uint32_t>(p_.asyncs.size());
  p_.asyncs.push_back(std::move(site));
  emit(out);
}

// cp.async [dst], [src], size{, src-size or ignore-src}{, policy}
bool FunctionDecoder::copyInstruction(const Instruction& in, const Form& form, AsyncSite& site) {
  bool hint = form.has(Mod::l2CacheHint);
  size_t least = hint ? 4 : 3;
  if (!operandCount(in, least, least + 1)) return false;
  if (!asyncAddress(in.operands[0], Space::shared, site.to) ||
      !asyncAddress(in.operands[1], Space::global, site.from)) {
    return false;
  }
  const Operand& size = in.operands[2];
  uint64_t bytes;
  if (size.kind != Operand::Kind::constant) {
    return error(DiagId::PtxOperandKind, size.loc, static_cast<uint32_t>(size.name.size()),
                 {"anything but a constant"});
  }
  if (!immediateBits(size.value, Mod::u32, size.loc, bytes)) return false;
  bool all = form.has(Mod::ca);
  if (bytes != 16 && !(all && (bytes == 4 || bytes == 8))) {
    return error(DiagId::PtxCopySize, size.loc, 0, {in.spelling, all ? "4, 8 or 16" : "16", bytes});
  }
  site.bytes = static_cast<uint32_t>(bytes);
  if (in.operands.size() == least + 1) {
    const Operand& o = in.operands[3];
    bool predicate = o.negated;
    if (o.kind == Operand::Kind::name && findLocal(o.name, nullptr) != nullptr) {
      auto r = findRegister(o.name, o.component, o.loc);
      if (!r) return false;
      predicate = r->type == Mod::pred;
    }
    auto ref = source(o, predicate ? Mod::pred : Mod::u32, false, predicate, nullptr);
    if (!ref) return false;
    if (o.kind == Operand::Kind::constant && o.value.bits > bytes) {
      return error(DiagId::PtxOutOfRange, o.loc, 0, {bytes});
    }
    (predicate ? site.ignore : site.amount) = *ref;
  }
  return !hint || source(in.operands.back(), Mod::u64, false, false, nullptr).has_value();
}

bool FunctionDecoder::constantOperand(const Operand& o, uint64_t& value) {
  if (o.kind != Operand::Kind::constant) {
    return error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
                 {"anything but a constant"});
  }
  return immediateBits(o.value, Mod::u32, o.loc, value);
}

namespace {

Space sharedOrGeneric(const Form& f) {
  bool shared = f.firstOf({Mod::shared, Mod::sharedCta, Mod::sharedCluster}) != Mod::none;
  return shared ? Space::shared : Space::generic;
}

}  // namespace

bool FunctionDecoder::mbarrierInstruction(const Instruction& in, const Form& form, AsyncSite& site,
                                          Ref& dst) {
  Space space = sharedOrGeneric(form);
  auto amount = [&](size_t index, Type type) {
    auto ref = source(in.operands[index], type, false, false, nullptr);
    if (ref) site.amount = *ref;
    return ref.has_value();
  };
  switch (form.row->family) {
    case Family::mbarrierInit:
      site.op = AsyncOp::mbarInit;
      return operandCount(in, 2, 2) && asyncAddress(in.operands[0], space, site.barrier) &&
             amount(1, Mod::u32);
    case Family::mbarrierInval:
      site.op = AsyncOp::mbarInval;
      return operandCount(in, 1, 1) && asyncAddress(in.operands[0], space, site.barrier);
    case Family::mbarrierBytes:
      site.op = form.has(Mod::expectTx) ? AsyncOp::mbarExpect : AsyncOp::mbarComplete;
      return operandCount(in, 2, 2) && asyncAddress(in.operands[0], space, site.barrier) &&
             amount(1, Mod::u32);
    case Family::mbarrierArrive: {
      site.op = AsyncOp::mbarArrive;
      site.order = form.has(Mod::relaxed) ? Order::relaxed : Order::release;
      site.drops = form.has(Mod::arriveDrop);
      site.expects = form.has(Mod::expectTx);
      site.noComplete = form.has(Mod::noComplete);
      bool needs = site.expects || site.noComplete;
      if (!operandCount(in, needs ? 3 : 2, 3)) return false;
      // What arrives at another block's object gets no state.
      const Operand& state = in.operands[0];
      if (form.has(Mod::sharedCluster) && state.kind != Operand::Kind::sink) {
        return error(DiagId::PtxOperandKind, state.loc, static_cast<uint32_t>(state.name.size()),
                     {"anything but '_'"});
      }
      if (state.kind != Operand::Kind::sink) {
        auto d = destination(state, Mod::b64, false, nullptr);
        if (!d) return false;
        dst = *d;
      }
      if (!asyncAddress(in.operands[1], space, site.barrier)) return false;
      if (in.operands.size() == 2) return true;
      const Module& m = k_.symbols().module();
      if (!needs && (m.version < 78 || m.sm < 90)) {
        std::string text = std::string(in.spelling) + " with a count";
        if (m.sm < 90)
          return error(DiagId::PtxNeedsTarget, in.loc, in.length, {text, 90, m.target});
        return error(DiagId::PtxNeedsVersion, in.loc, in.length, {text, 7, 8});
      }
      return amount(2, Mod::u32);
    }
    default: {
      site.op = AsyncOp::mbarWait;
      site.order = form.has(Mod::relaxed) ? Order::relaxed : Order::acquire;
      site.parity = form.has(Mod::parity);
      site.blocking = form.has(Mod::tryWait);
      if (!operandCount(in, 3, site.blocking ? 4 : 3)) return false;
      const Operand& d = in.operands[0];
      if (d.kind == Operand::Kind::sink) {
        return error(DiagId::PtxOperandKind, d.loc, 1, {"'_'"});
      }
      auto ref = destination(d, Mod::pred, false, nullptr);
      if (!ref) return false;
      dst = *ref;
      if (!asyncAddress(in.operands[1], space, site.barrier) ||
          !amount(2, site.parity ? Mod::u32 : Mod::b64)) {
        return false;
      }
      if (in.operands.size() == 3) return true;
      auto hint = source(in.operands[3], Mod::u32, false, false, nullptr);
      return hint.has_value();
    }
  }
}

// [map, {coordinates}]
bool FunctionDecoder::tensorOperand(const Operand& o, const Form& form, AsyncSite& site) {
  if (o.kind != Operand::Kind::address || o.elements.empty()) {
    return error(DiagId::PtxOperandKind, o.loc, 1, {"anything but [map, {coordinates}]"});
  }
  size_t rank = 1;
  for (Mod d : {Mod::dim1, Mod::dim2, Mod::dim3, Mod::dim4, Mod::dim5}) {
    if (form.has(d)) break;
    ++rank;
  }
  if (o.elements.size() != rank) {
    return error(DiagId::PtxTensorRank, o.elements[0].loc, 0, {rank, o.elements.size()});
  }
  for (const Operand& e : o.elements) {
    auto ref = source(e, Mod::s32, false, false, nullptr);
    if (!ref) return false;
    site.coordinates.push_back(*ref);
  }
  Operand base = o;
  base.elements.clear();
  return asyncAddress(base, Space::generic, site.map);
}

// cp.async.bulk and cp.reduce.async.bulk, with a tensor map or without.
bool FunctionDecoder::bulkInstruction(const Instruction& in, const Form& form, AsyncSite& site) {
  Family family = form.row->family;
  bool tensor = family == Family::tensorCopy || family == Family::tensorReduce;
  bool toGlobal = form.has(Mod::bulkGroup);
  bool multicast = form.has(Mod::multicastCluster), hint = form.has(Mod::l2CacheHint);
  bool masked = form.has(Mod::cpMask);
  size_t count = (tensor ? 2u : 3u) + (toGlobal ? 0u : 1u) + (multicast ? 1u : 0u) +
                 (hint ? 1u : 0u) + (masked ? 1u : 0u);
  if (!operandCount(in, count, count)) return false;
  site.op = tensor ? AsyncOp::tensor : AsyncOp::bulk;
  site.bytes = 16;
  bool reduces = family == Family::bulkReduce || family == Family::tensorReduce;
  if (reduces) {
    site.reduction = form.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::inc, Mod::dec,
                                   Mod::andMod, Mod::orMod, Mod::xorMod});
    site.type = form.types[0];
  }
  // A sum of floating-point numbers shows the order of the blocks; so does what wraps.
  if (reduces && toGlobal) {
    bool ordered = tensor || typeClass(site.type) == TypeClass::floating ||
                   site.reduction == Mod::inc || site.reduction == Mod::dec;
    p_.usesOrderedAtomics = p_.usesOrderedAtomics || ordered;
  }
  Space to = toGlobal ? Space::global : Space::shared;
  bool between = !toGlobal && !form.has(Mod::global);
  Space from = toGlobal || between ? Space::shared : Space::global;
  size_t next = 2;
  if (tensor) {
    site.to.space = to;
    site.from.space = from;
    const Operand& map = in.operands[toGlobal ? 0 : 1];
    const Operand& shared = in.operands[toGlobal ? 1 : 0];
    if (!asyncAddress(shared, Space::shared, toGlobal ? site.from : site.to) ||
        !tensorOperand(map, form, site)) {
      return false;
    }
  } else {
    if (!asyncAddress(in.operands[0], to, site.to) ||
        !asyncAddress(in.operands[1], from, site.from)) {
      return false;
    }
    const Operand& size = in.operands[next++];
    auto ref = source(size, Mod::u32, false, false, nullptr);
    if (!ref) return false;
    if (size.kind == Operand::Kind::constant && size.value.bits % 16 != 0) {
      return error(DiagId::PtxCopySize, size.loc, 0,
                   {in.spelling, "a multiple of 16", size.value.bits});
    }
    site.amount = *ref;
  }
  if (!toGlobal && !asyncAddress(in.operands[next++], Space::shared, site.barrier)) return false;
  if (multicast) {
    auto ref = source(in.operands[next++], Mod::b16, false, false, nullptr);
    if (!ref) return false;
    site.multicast = *ref;
  }
  if (hint && !source(in.operands[next++], Mod::b64, false, false, nullptr)) return false;
  if (masked) {
    auto ref = source(in.operands[next++], Mod::b16, false, false, nullptr);
    if (!ref) return false;
    site.byteMask = *ref;
  }
  return true;
}

// st.async and red.async: [address], value or vector, [mbarrier]
bool FunctionDecoder::asyncStore(const Instruction& in, const Form& form, AsyncSite& site) {
  Space space = sharedOrGeneric(form);
  if (!operandCount(in, 3, 3) || !asyncAddress(in.operands[0], space, site.to) ||
      !asyncAddress(in.operands[2], space, site.barrier)) {
    return false;
  }
  site.op = AsyncOp::store;
  site.type = form.types[0];
  site.reduction = form.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::inc, Mod::dec,
                                 Mod::andMod, Mod::orMod, Mod::xorMod});
  size_t count = form.has(Mod::v4) ? 4 : form.has(Mod::v2) ? 2 : 1;
  const Operand& value = in.operands[1];
  std::vector<Operand> elements = {value};
  if (count != 1) {
    if (value.kind != Operand::Kind::vector || value.elements.size() != count) {
      return error(DiagId::PtxOperandKind, value.loc, 1, {"anything but a vector of that length"});
    }
    elements = value.elements;
  }
  for (const Operand& e : elements) {
    auto ref = source(e, site.type, false, false, nullptr);
    if (!ref) return false;
    site.values.push_back(*ref);
  }
  site.bytes = static_cast<uint32_t>(count * typeBits(site.type) / 8);
  return true;
}

namespace {

// Fields of a tensor map whose values are constants of the instruction: the largest.
struct ConstantField {
  Mod field;
  uint64_t most;
};
constexpr ConstantField kConstantFields[] = {
    {Mod::elemtype, 12}, {Mod::interleaveLayout, 2}, {Mod::swizzleMode, 3},
    {Mod::fillMode, 1},  {Mod::swizzleAtomicity, 3},
};

}  // namespace

// tensormap.replace [map]{, dimension}, value
bool FunctionDecoder::mapReplace(const Instruction& in, const Form& form, AsyncSite& site) {
  site.op = AsyncOp::mapReplace;
  site.bytes = 128;
  site.field =
      form.firstOf({Mod::globalAddress, Mod::rank, Mod::boxDim, Mod::globalDim, Mod::globalStride,
                    Mod::elementStride, Mod::elemtype, Mod::interleaveLayout, Mod::swizzleMode,
                    Mod::fillMode, Mod::swizzleAtomicity});
  bool numbered = form.firstOf({Mod::boxDim, Mod::globalDim, Mod::globalStride,
                                Mod::elementStride}) != Mod::none;
  size_t count = numbered ? 3 : 2;
  Space space = form.has(Mod::global)      ? Space::global
                : form.has(Mod::sharedCta) ? Space::shared
                                           : Space::generic;
  if (!operandCount(in, count, count) || !asyncAddress(in.operands[0], space, site.map)) {
    return false;
  }
  auto constantUpTo = [&](const Operand& o, uint64_t most, uint64_t& number) {
    if (!constantOperand(o, number)) return false;
    return number <= most || error(DiagId::PtxOutOfRange, o.loc, 0, {most});
  };
  uint64_t number = 0;
  if (numbered && !constantUpTo(in.operands[1], 4, number)) return false;
  site.dimension = static_cast<uint32_t>(number);
  const Operand& value = in.operands.back();
  for (const ConstantField& f : kConstantFields) {
    if (f.field == site.field && !constantUpTo(value, f.most, number)) return false;
  }
  auto ref = source(value, form.types[0] == Mod::b64 ? Mod::u64 : Mod::u32, false, false, nullptr);
  if (!ref) return false;
  site.amount = *ref;
  return true;
}

bool FunctionDecoder::asyncInstruction(const Instruction& in, const Form& form) {
  AsyncSite site;
  Ref dst = kNoRef;
  uint64_t value = 0;
  switch (form.row->family) {
    case Family::copyAsync:
      site.op = AsyncOp::copy;
      if (!copyInstruction(in, form, site)) return false;
      break;
    case Family::copyCommit:
      site.op = AsyncOp::commit;
      break;
    case Family::copyWait:
    case Family::bulkWait:
      site.op = form.row->family == Family::bulkWait ? AsyncOp::bulkWait
                : form.has(Mod::waitAll)             ? AsyncOp::waitAll
                                                     : AsyncOp::waitGroup;
      site.read = form.has(Mod::read);
      if (!in.operands.empty() && !constantOperand(in.operands[0], value)) return false;
      site.groups = static_cast<uint32_t>(value);
      break;
    case Family::copyArrive:
      site.op = AsyncOp::copyArrive;
      site.counted = !form.has(Mod::noinc);
      if (!operandCount(in, 1, 1) ||
          !asyncAddress(in.operands[0], sharedOrGeneric(form), site.barrier)) {
        return false;
      }
      break;
    case Family::proxyFence:
      site.op = AsyncOp::proxyFence;
      site.fence = form.has(Mod::mbarrierInit) ? ProxyFence::mbarrierInit
                   : form.has(Mod::alias)      ? ProxyFence::alias
                   : form.has(Mod::global)     ? ProxyFence::asyncGlobal
                   : form.firstOf({Mod::sharedCta, Mod::sharedCluster, Mod::restrictCta,
                                   Mod::restrictCluster}) != Mod::none
                       ? ProxyFence::asyncShared
                       : ProxyFence::async;
      break;
    case Family::tensormapFence:
      // [address], 128 of an acquire: the fence is for these bytes.
      site.op = AsyncOp::proxyFence;
      site.fence = form.has(Mod::release) ? ProxyFence::mapRelease : ProxyFence::mapAcquire;
      if (form.has(Mod::release)) break;
      if (!operandCount(in, 2, 2) || !asyncAddress(in.operands[0], Space::generic, site.map) ||
          !constantOperand(in.operands[1], value)) {
        return false;
      }
      if (value != 128) {
        return error(DiagId::PtxCopySize, in.operands[1].loc, 0, {in.spelling, 128, value});
      }
      break;
    case Family::storeAsync:
      if (!asyncStore(in, form, site)) return false;
      break;
    case Family::tensormapReplace:
      if (!mapReplace(in, form, site)) return false;
      break;
    case Family::tensormapCopy:
      // [to], [from], 128
      site.op = AsyncOp::mapCopy;
      site.bytes = 128;
      if (!operandCount(in, 3, 3) || !asyncAddress(in.operands[0], Space::global, site.to) ||
          !asyncAddress(in.operands[1], Space::shared, site.from) ||
          !constantOperand(in.operands[2], value)) {
        return false;
      }
      if (value != 128) {
        return error(DiagId::PtxCopySize, in.operands[2].loc, 0, {in.spelling, 128, value});
      }
      break;
    case Family::clusterArrive:
      site.op = AsyncOp::clusterArrive;
      site.order = form.has(Mod::relaxed) ? Order::relaxed : Order::release;
      break;
    case Family::clusterWait:
      site.op = AsyncOp::clusterWait;
      site.order = Order::acquire;
      break;
    case Family::bulkCopy:
    case Family::bulkReduce:
    case Family::tensorCopy:
    case Family::tensorReduce:
      if (!bulkInstruction(in, form, site)) return false;
      break;
    case Family::bulkCommit:
      site.op = AsyncOp::bulkCommit;
      break;
    case Family::bulkPrefetch: {
      // Hints: operands are checked, nothing happens.
      bool hint = form.has(Mod::l2CacheHint), plain = !form.has(Mod::tensor) && form.has(Mod::bulk);
      size_t count = 1u + (plain ? 1u : 0u) + (hint ? 1u : 0u);
      if (!operandCount(in, count, count)) return false;
      Instr nothing;
      bool fine;
      if (form.has(Mod::tensor)) {
        fine = tensorOperand(in.operands[0], form, site);
      } else if (form.has(Mod::param)) {
        fine = memoryOperand(in.operands[0], Space::param, true, nothing);
      } else {
        Space space = form.has(Mod::constSpace) ? Space::constant
                      : plain                   ? Space::global
                                                : Space::generic;
        fine = asyncAddress(in.operands[0], space, site.map);
      }
      if (!fine || (plain && !source(in.operands[1], Mod::u32, false, false, nullptr)) ||
          (hint && !source(in.operands.back(), Mod::b64, false, false, nullptr))) {
        return false;
      }
      nothing = Instr();
      nothing.op = Op::nop;
      emit(nothing);
      return true;
    }
    default:
      return mbarrierInstruction(in, form, site, dst) && (emitAsync(std::move(site), dst), true);
  }
  emitAsync(std::move(site), dst);
  return true;
}

}  // namespace mtlc::sim::ptx
