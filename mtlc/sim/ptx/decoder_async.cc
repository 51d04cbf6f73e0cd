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
  for (Ref r : {site.to.base, site.from.base, site.barrier.base, site.amount, site.ignore}) {
    if (r != kNoRef) site.reads.push_back(r);
  }
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

bool FunctionDecoder::asyncInstruction(const Instruction& in, const Form& form) {
  AsyncSite site;
  switch (form.row->family) {
    case Family::copyAsync:
      site.op = AsyncOp::copy;
      if (!copyInstruction(in, form, site)) return false;
      break;
    case Family::copyCommit:
      site.op = AsyncOp::commit;
      break;
    case Family::copyWait: {
      site.op = form.has(Mod::waitAll) ? AsyncOp::waitAll : AsyncOp::waitGroup;
      if (in.operands.empty()) break;
      const Operand& n = in.operands[0];
      uint64_t groups;
      if (n.kind != Operand::Kind::constant) {
        return error(DiagId::PtxOperandKind, n.loc, static_cast<uint32_t>(n.name.size()),
                     {"anything but a constant"});
      }
      if (!immediateBits(n.value, Mod::u32, n.loc, groups)) return false;
      site.groups = static_cast<uint32_t>(groups);
      break;
    }
    default:
      return false;
  }
  emitAsync(std::move(site));
  return true;
}

}  // namespace mtlc::sim::ptx
