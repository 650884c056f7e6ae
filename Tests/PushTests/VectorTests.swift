import Contract
import ServerCrypto
import Testing

@testable import PushCore

/// The examples that the standards print.
@Suite struct VectorTests {
    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).map { offset in
            let start = hex.index(hex.startIndex, offsetBy: offset)
            return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16)!
        }
    }

    /// RFC 5869, A.1.
    @Test func keysAreDerivedAsPrinted() {
        let key = HKDF.extract(salt: Array(0...12), [UInt8](repeating: 0x0B, count: 22))
        #expect(key.bytes == self.bytes("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"))
        let output = HKDF.expand(key, info: Array(0xF0...0xF9), count: 42)
        #expect(
            output == self.bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        )
    }

    /// RFC 7515, A.3; and that nothing else is taken for it.
    @Test func theSignatureOfES256IsUnderstoodAsPrinted() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let key = try #require(P256PublicKey(bytes: [4] + x + y))
        let signed =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        var signature = try #require(
            Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
        #expect(key.isValid(signature, over: Array(signed.utf8)))
        #expect(!key.isValid(signature, over: Array(signed.utf8.dropLast())))
        signature[63] ^= 1
        #expect(!key.isValid(signature, over: Array(signed.utf8)))
        #expect(P256PublicKey(bytes: [4] + y + x) == nil, "not on the curve")
    }

    @Test func whatWeSignIsValid() throws {
        for _ in 0..<50 {
            let key = P256PrivateKey()
            let signature = try #require(key.sign([1, 2, 3]))
            #expect(signature.count == 64 && key.publicKey.isValid(signature, over: [1, 2, 3]))
        }
    }

    /// RFC 8291, 5 and Appendix A.
    @Test func aPushMessageIsEncryptedAsPrinted() throws {
        func decode(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }
        let sender = try #require(P256PrivateKey(scalar: try decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        #expect(
            sender.publicKey.bytes
                == (try decode(
                    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")))
        let token =
            "webpush:https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"
            + "#BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4.BTBZMqHH6r4Tts7J_aSIgg"
        let subscription = try #require(WebPushSubscription(token))
        #expect(subscription.text == token)
        let sealed = WebPushEncryption.seal(
            Array("When I grow up, I want to be a watermelon".utf8), for: subscription, sender: sender,
            salt: try decode("DGv6ra1nlYgDCS1FRnbzlw"))
        let printed =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
            + "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        #expect(sealed.map { Base64URL.encode($0) } == printed)
    }

    @Test func aSealedTextThatWasChangedIsNotOpened() throws {
        let (key, nonce) = (randomBytes(16), randomBytes(12))
        var sealed = try #require(AES128GCM.seal([1, 2, 3], key: key, nonce: nonce))
        #expect(AES128GCM.open(sealed, key: key, nonce: nonce) == [1, 2, 3])
        sealed[0] ^= 1
        #expect(AES128GCM.open(sealed, key: key, nonce: nonce) == nil)
    }
}
