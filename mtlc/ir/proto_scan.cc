#include "mtlc/ir/proto_scan.h"

#include "absl/strings/str_format.h"
#include "google/protobuf/io/coded_stream.h"
#include "mtlc/ir/module.pb.h"

namespace mtlc::ir {
namespace {

enum Level { kModule, kFunction, kBlock, kOperation };
constexpr std::string_view kLevelNames[] = {"the module", "a function", "a block", "an operation"};

// The field of each level that holds the next one.
constexpr int kChild[] = {proto::Module::kFunctionsFieldNumber, proto::Function::kBlocksFieldNumber,
                          proto::Block::kOperationsFieldNumber, -1};

enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

class Scanner {
 public:
  explicit Scanner(bool parseOperations) : parseOperations_(parseOperations) {}

  // The depth is that of the levels. False at damage.
  bool scan(Level level, std::string_view bytes, size_t offset) {
    const uint8_t* data = reinterpret_cast<const uint8_t*>(bytes.data());
    google::protobuf::io::CodedInputStream in(data, static_cast<int>(bytes.size()));
    for (;;) {
      const size_t at = static_cast<size_t>(in.CurrentPosition());
      if (at == bytes.size()) return true;
      const uint32_t tag = in.ReadTag();
      bool good = tag >> 3 != 0;
      uint64_t number = 0;
      uint32_t length = 0;
      switch (tag & 7) {
        case kVarint:
          good = good && in.ReadVarint64(&number);
          break;
        case kFixed64:
          good = good && in.Skip(8);
          break;
        case kFixed32:
          good = good && in.Skip(4);
          break;
        case kLength: {
          good = good && in.ReadVarint32(&length);
          const size_t begin = static_cast<size_t>(in.CurrentPosition());
          good = good && length <= bytes.size() - begin;
          if (!good) break;
          ++result.records;
          if (static_cast<int>(tag >> 3) == kChild[level]) {
            const Level child = static_cast<Level>(level + 1);
            if (child == kFunction) ++functions_;
            if (child == kOperation) ++operations_;
            const std::string_view part = bytes.substr(begin, length);
            if (!scan(child, part, offset + begin)) return false;
            if (child == kOperation && parseOperations_ &&
                !proto::Operation().ParseFromArray(part.data(), static_cast<int>(part.size()))) {
              return damaged(child, offset + begin);
            }
          }
          good = in.Skip(static_cast<int>(length));
          break;
        }
        default:  // Groups: no version has any.
          good = false;
      }
      if (!good) return damaged(level, offset + at);
    }
  }

  ProtoScan result;

 private:
  bool damaged(Level level, size_t at) {
    result.damagedAt = at;
    result.place = level == kModule ? std::string(kLevelNames[level])
                   : level == kOperation
                       ? absl::StrFormat("function %d, operation %d", functions_ - 1, operations_)
                       : absl::StrFormat("%s (function %d)", kLevelNames[level], functions_ - 1);
    return false;
  }

  bool parseOperations_;
  uint64_t functions_ = 0;
  uint64_t operations_ = 0;
};

ProtoScan run(std::string_view bytes, bool parseOperations) {
  Scanner scanner(parseOperations);
  scanner.scan(kModule, bytes, 0);
  return scanner.result;
}

}  // namespace

ProtoScan scanProto(std::string_view bytes) { return run(bytes, false); }

ProtoScan locateDamage(std::string_view bytes) {
  ProtoScan result = run(bytes, true);
  if (!result.damagedAt) {
    result.damagedAt = 0;
    result.place = "the module";
  }
  return result;
}

}  // namespace mtlc::ir
