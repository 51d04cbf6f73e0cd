// Made by tools/math/gen_coefficients.py; don't edit.
// clang-format off

#ifndef MTLC_SUPPORT_MATH_COEFFICIENTS_H_
#define MTLC_SUPPORT_MATH_COEFFICIENTS_H_

#include <cstdint>

namespace mtlc::math {

// e^r = 1 + r + r²·P(r), |r| <= ln(2)/2. Error 2^-28.2.
inline constexpr float kExpF32[] = {
    0x1.FFFFFCp-2f,
    0x1.555492p-3f,
    0x1.5558B6p-5f,
    0x1.1239B6p-7f,
    0x1.6A43DEp-10f,
};

// 2^f = 1 + f·P(f), |f| <= 1/2. Error 2^-28.3.
inline constexpr float kExp2F32[] = {
    0x1.62E43p-1f,
    0x1.EBFBDCp-3f,
    0x1.C6AF7Ap-5f,
    0x1.3B2DD6p-7f,
    0x1.5F097Ep-10f,
    0x1.417394p-13f,
};

// 1/ln(2)
inline constexpr float kLog2eF32 = 0x1.715476p0f;

// ln(2) in two parts.
inline constexpr float kLn2HiF32 = 0x1.62E43p-1f;
inline constexpr float kLn2LoF32 = -0x1.05C61p-29f;

// e^r = 1 + r + r²·P(r), |r| <= ln(2)/2. Error 2^-57.9.
inline constexpr double kExpF64[] = {
    0x1.000000000000Ap-1,
    0x1.5555555555504p-3,
    0x1.55555555506A8p-5,
    0x1.11111111253AAp-7,
    0x1.6C16C1847BCAEp-10,
    0x1.A01A0137E1509p-13,
    0x1.A0199953BA189p-16,
    0x1.71DF077D3857Cp-19,
    0x1.28AE05AEE6086p-22,
    0x1.ADADB4F6F891Fp-26,
};

// 2^f = 1 + f·P(f), |f| <= 1/2. Error 2^-59.7.
inline constexpr double kExp2F64[] = {
    0x1.62E42FEFA39EFp-1,
    0x1.EBFBDFF82C58Ep-3,
    0x1.C6B08D704A1D4p-5,
    0x1.3B2AB6FBA5196p-7,
    0x1.5D87FE78743ACp-10,
    0x1.430912F75A6A7p-13,
    0x1.FFCBFD49D68A9p-17,
    0x1.62C027146FCC9p-20,
    0x1.B523307DE43A8p-24,
    0x1.E4BBEE915D76Dp-28,
    0x1.EC74531FA6586p-32,
    0x1.E053688832BC5p-36,
};

// 1/ln(2)
inline constexpr double kLog2eF64 = 0x1.71547652B82FEp0;

// ln(2) in two parts.
inline constexpr double kLn2HiF64 = 0x1.62E42FEFA39EFp-1;
inline constexpr double kLn2LoF64 = 0x1.ABC9E3B39803Fp-56;

// log(1+f) = f + f²·P(f), √½ <= 1+f <= √2. Error 2^-25.0.
inline constexpr float kLogF32[] = {
    -0x1.FFFFFAp-2f,
    0x1.5556F4p-2f,
    -0x1.0004B2p-2f,
    0x1.98D278p-3f,
    -0x1.5359AAp-3f,
    0x1.3186DAp-3f,
    -0x1.251AE6p-3f,
    0x1.65E64Cp-4f,
};

// log2(1+f) = f·(kLog2eF32 + P(f)), √½ <= 1+f <= √2. Error 2^-25.1.
inline constexpr float kLog2F32[] = {
    -0x1.358086p-26f,
    -0x1.71547p-1f,
    0x1.EC73D6p-2f,
    -0x1.715C9p-2f,
    0x1.26D3Dp-2f,
    -0x1.E951FAp-3f,
    0x1.B9B99Cp-3f,
    -0x1.A8BB78p-3f,
    0x1.022FB4p-3f,
};

// 2·atanh(t) = 2t + t·z·P(z), z = t², |t| <= (√2-1)/(√2+1). Error 2^-59.5.
inline constexpr double kAtanhF64[] = {
    0x1.5555555555592p-1,
    0x1.999999997FFp-2,
    0x1.24924941E3816p-2,
    0x1.C71C5212279F5p-3,
    0x1.74663D6CAB00Fp-3,
    0x1.39A1DB037B1C9p-3,
    0x1.2F044BB48D2BFp-3,
};

// 1/ln(2), second part.
inline constexpr double kLog2eLoF64 = 0x1.777D0FFDA0D24p-56;

// ln(2) in two parts, the first of 41 bits.
inline constexpr double kLn2ShortHiF64 = 0x1.62E42FEFA4p-1;
inline constexpr double kLn2ShortLoF64 = -0x1.8432A1B0E2634p-43;

// sin(r) = r + r·s·P(s), s = r², |r| <= π/4. Error 2^-27.9.
inline constexpr float kSinF32[] = {
    -0x1.555546p-3f,
    0x1.110778p-7f,
    -0x1.9954p-13f,
};

// cos(r) = 1 - s/2 + s²·P(s), s = r², |r| <= π/4. Error 2^-33.0.
inline constexpr float kCosF32[] = {
    0x1.55554Ap-5f,
    -0x1.6C0C2Ap-10f,
    0x1.99E914p-16f,
};

// 2/π
inline constexpr float kTwoOverPiF32 = 0x1.45F306p-1f;

// π/2 as a sum of three positive parts.
inline constexpr float kHalfPiF32[] = {
    0x1.921FB4p0f,
    0x1.4442Dp-24f,
    0x1.846988p-48f,
};

// π/2 · 2^-64 in two parts.
inline constexpr float kHalfPiOver2To64F32[] = {
    0x1.921FB6p-64f,
    -0x1.777A5Cp-89f,
};

// sin(r) = r + r·s·P(s), s = r², |r| <= π/4. Error 2^-57.9.
inline constexpr double kSinF64[] = {
    -0x1.5555555555548p-3,
    0x1.111111110F753p-7,
    -0x1.A01A019BF07B1p-13,
    0x1.71DE355D5CF96p-19,
    -0x1.AE5E5304DD28Bp-26,
    0x1.5D8DC362B65D7p-33,
};

// cos(r) = 1 - s/2 + s²·P(s), s = r², |r| <= π/4. Error 2^-63.9.
inline constexpr double kCosF64[] = {
    0x1.555555555554Bp-5,
    -0x1.6C16C16C15014p-10,
    0x1.A01A019C8EE72p-16,
    -0x1.27E4F7F14D444p-22,
    0x1.1EE9DB94A28BDp-29,
    -0x1.8FA661A9C55BBp-37,
};

// 2/π
inline constexpr double kTwoOverPiF64 = 0x1.45F306DC9C883p-1;

// π/2 as a sum of three positive parts.
inline constexpr double kHalfPiF64[] = {
    0x1.921FB54442D18p0,
    0x1.1A62633145C06p-54,
    0x1.C1CD129024E08p-107,
};

// π/2 · 2^-64 in two parts.
inline constexpr double kHalfPiOver2To64F64[] = {
    0x1.921FB54442D18p-64,
    0x1.1A62633145C07p-118,
};

// erf(x) = x + x·P(x²), |x| <= 0.9. Error 2^-26.1.
inline constexpr float kErfLowF32[] = {
    0x1.06EBA6p-3f,
    -0x1.8126F4p-2f,
    0x1.CE1D32p-4f,
    -0x1.B6B712p-6f,
    0x1.484CCp-8f,
    -0x1.3EACA6p-11f,
};

// erf(x) = 1 - e^-P(x), 0.9 <= x <= 4. Error 2^-29.1.
inline constexpr float kErfHighF32[] = {
    0x1.5CB914p-13f,
    0x1.20B75Cp0f,
    0x1.46219Ep-1f,
    0x1.AA73B8p-4f,
    -0x1.6D9D92p-6f,
    0x1.91CD5Cp-9f,
    -0x1.9FB128p-13f,
};

// erf(x) = x + x·P(x²), |x| <= 1. Error 2^-56.0.
inline constexpr double kErfLowF64[] = {
    0x1.06EBA8214DB68p-3,
    -0x1.812746B0379B1p-2,
    0x1.CE2F21A040828p-4,
    -0x1.B82CE311EB7B8p-6,
    0x1.565BCCF791CEAp-8,
    -0x1.C02DB008F80FBp-11,
    0x1.F9A2B648106FDp-14,
    -0x1.F4CA10A5B0371p-17,
    0x1.B97DAE0F23E4Cp-20,
    -0x1.5BFAF66083232p-23,
    0x1.D6CC37695B261p-27,
    -0x1.AAD0A264E8DDBp-31,
};

// erf(x) = 1 - e^-P(x), 1 <= x <= 6. Error 2^-56.8.
inline constexpr double kErfHighF64[] = {
    0x1.0DFF7D87BBB62p-21,
    0x1.20DD1FCF319BBp0,
    0x1.45F6279218E07p-1,
    0x1.A4AC558EF7D4Fp-4,
    -0x1.372252E142B8Cp-6,
    -0x1.AEAE93817FAB7p-12,
    0x1.F6492DE9356CFp-10,
    -0x1.94199013ACE8p-11,
    0x1.1B653CDD4ED96p-13,
    0x1.533DBC044DA7Bp-16,
    -0x1.7E8F794FCF0F6p-16,
    0x1.22980B03D014Cp-17,
    -0x1.1E68D6CB7F3FBp-19,
    0x1.90764BA41AED3p-22,
    -0x1.8E59C2AD34692p-25,
    0x1.0E08AD46412E6p-28,
    -0x1.C111A862A0094p-33,
    0x1.5A45A37F2580Ep-38,
};

// log(m) = q + q·s·P(s), q = 2(m-1)/(m+1), s = q², √½ <= m <= √2. Error 2^-35.2.
inline constexpr float kLogQF32[] = {
    0x1.555554p-4f,
    0x1.999C26p-7f,
    0x1.23D3DEp-9f,
    0x1.F13B74p-12f,
};

// log(m) = q + q·s/12 + q·s²·P(s), q = 2(m-1)/(m+1), s = q², √½ <= m <= √2. Error 2^-73.3.
inline constexpr double kLogQF64[] = {
    0x1.9999999999996p-7,
    0x1.2492492492F52p-9,
    0x1.C71C71C596621p-12,
    0x1.745D18296E94Ep-14,
    0x1.3B1364C2E4B9p-16,
    0x1.11207019DAC6Bp-18,
    0x1.DE3D4D3726F0Fp-21,
    0x1.EAC6D4AD8BBAEp-23,
};

// 1/ln(2), second part.
inline constexpr float kLog2eLoF32 = 0x1.4AE0Cp-26f;

// 1/12 in two parts.
inline constexpr double kTwelfthF64[] = {
    0x1.5555555555555p-4,
    0x1.5555555555555p-58,
};

// The binary digits of 2/π after the point, in words of 32 and 64 bits.
inline constexpr uint32_t kTwoOverPi32[] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
inline constexpr uint64_t kTwoOverPi64[] = {0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D};

}  // namespace mtlc::math

#endif  // MTLC_SUPPORT_MATH_COEFFICIENTS_H_
