internal import COpenSSL

/// A private key on NIST P-256: ES256 (RFC 7518 §3.4) and ECDH (RFC 8291).
package struct P256PrivateKey: Sendable {
    private let key: KeyHandle
    package let publicKey: P256PublicKey

    /// A new key.
    package init() {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_keygen(context, &made) == 1, let key = KeyHandle(made), let publicKey = P256PublicKey(of: key)
        else { preconditionFailure("OpenSSL makes no keys") }
        self.key = key
        self.publicKey = publicKey
    }

    /// - Parameter pem: PKCS #8 or SEC 1.
    /// - Returns: nil if it is no private key on this curve.
    package init?(pem: String) {
        guard let key = KeyHandle.privateKey(pem: pem), let publicKey = P256PublicKey(of: key) else { return nil }
        self.key = key
        self.publicKey = publicKey
    }

    /// - Parameter scalar: 32 bytes, big-endian.
    /// - Returns: nil if it is not between 0 and the group's order.
    package init?(scalar: [UInt8]) {
        guard scalar.count == 32, let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        defer { EC_GROUP_free(group) }
        let number = BN_bin2bn(scalar, 32, nil)
        defer { BN_clear_free(number) }
        let point = EC_POINT_new(group)
        defer { EC_POINT_free(point) }
        var encoded = [UInt8](repeating: 0, count: P256PublicKey.byteCount)
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0,
            EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
            EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, nil)
                == encoded.count,
            let publicKey = P256PublicKey(bytes: encoded),
            let key = P256PublicKey.key(encoded, scalar: number)
        else { return nil }
        self.key = key
        self.publicKey = publicKey
    }

    /// - Returns: R and S, 32 bytes each (RFC 7518 §3.4), of ECDSA with SHA-256.
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let encoded = self.key.sign(message) else { return nil }
        let signature: OpaquePointer? = encoded.withUnsafeBufferPointer {
            var start = $0.baseAddress
            return d2i_ECDSA_SIG(nil, &start, $0.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var both = [UInt8](repeating: 0, count: 64)
        let isWritten = both.withUnsafeMutableBufferPointer {
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), $0.baseAddress, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), $0.baseAddress! + 32, 32) == 32
        }
        return isWritten ? both : nil
    }

    /// The secret shared with the owner of `other`, 32 bytes: the x coordinate.
    package func shared(with other: P256PublicKey) -> [UInt8]? {
        let context = EVP_PKEY_CTX_new(self.key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: 32)
        var count = secret.count
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other.key.pointer) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == 32
        else { return nil }
        return secret
    }
}

/// A point on NIST P-256 that has been checked to be one.
package struct P256PublicKey: Sendable, Equatable {
    /// Length of the uncompressed form: 4, x, y.
    package static let byteCount = 65
    /// The uncompressed form (SEC 1 §2.3.3).
    package let bytes: [UInt8]
    let key: KeyHandle

    /// - Returns: nil if the bytes are not a point in its uncompressed form.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == 4, let key = Self.key(bytes, scalar: nil) else { return nil }
        self.bytes = bytes
        self.key = key
    }

    init?(of key: KeyHandle) {
        var group = [CChar](repeating: 0, count: 32)
        var count = 0
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        var written = 0
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC,
            EVP_PKEY_get_group_name(key.pointer, &group, group.count, &count) == 1,
            OBJ_txt2nid(group) == NID_X9_62_prime256v1,
            EVP_PKEY_get_octet_string_param(key.pointer, OSSL_PKEY_PARAM_PUB_KEY, &bytes, bytes.count, &written) == 1,
            written == Self.byteCount
        else { return nil }
        self.init(bytes: bytes)
    }

    package static func == (a: P256PublicKey, b: P256PublicKey) -> Bool { a.bytes == b.bytes }

    /// - Parameter signature: R and S, 32 bytes each.
    package func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard signature.count == 64, let both = ECDSA_SIG_new() else { return false }
        defer { ECDSA_SIG_free(both) }
        let (r, s) = signature.withUnsafeBufferPointer {
            (BN_bin2bn($0.baseAddress, 32, nil), BN_bin2bn($0.baseAddress! + 32, 32, nil))
        }
        guard ECDSA_SIG_set0(both, r, s) == 1 else { return false }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(both, &encoded)
        guard count > 0, let encoded else { return false }
        defer { CRYPTO_free(encoded, nil, 0) }
        return self.key.isValid(Array(UnsafeBufferPointer(start: encoded, count: Int(count))), over: message)
    }

    /// OpenSSL's key from its parts; a private one if there is a scalar. Points that are not on the curve are refused.
    static func key(_ point: [UInt8], scalar: OpaquePointer?) -> KeyHandle? {
        // The builder, and what it builds, keep pointers to names and values. Swift's own end with each call.
        OSSL_PKEY_PARAM_GROUP_NAME.withCString { groupName in
            OSSL_PKEY_PARAM_PUB_KEY.withCString { pointName in
                OSSL_PKEY_PARAM_PRIV_KEY.withCString { scalarName in
                    "P-256".withCString { group in
                        point.withUnsafeBufferPointer { point in
                            Self.key(isPrivate: scalar != nil) { builder in
                                let (bytes, count) = (point.baseAddress, point.count)
                                return OSSL_PARAM_BLD_push_utf8_string(builder, groupName, group, 0) == 1
                                    && OSSL_PARAM_BLD_push_octet_string(builder, pointName, bytes, count) == 1
                                    && (scalar.map { OSSL_PARAM_BLD_push_BN(builder, scalarName, $0) == 1 } ?? true)
                            }
                        }
                    }
                }
            }
        }
    }

    /// - Parameter push: gives the builder its parameters; returns whether it took them.
    private static func key(isPrivate: Bool, _ push: (OpaquePointer?) -> Bool) -> KeyHandle? {
        let builder = OSSL_PARAM_BLD_new()
        defer { OSSL_PARAM_BLD_free(builder) }
        guard push(builder) else { return nil }
        let parameters = OSSL_PARAM_BLD_to_param(builder)
        defer { OSSL_PARAM_free(parameters) }
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let selection = EVP_PKEY_PUBLIC_KEY_PARTS | (isPrivate ? OSSL_KEYMGMT_SELECT_PRIVATE_KEY_PART : 0)
        var made: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1, EVP_PKEY_fromdata(context, &made, selection, parameters) == 1
        else { return nil }
        return KeyHandle(made)
    }

    // Macros that are sums of others do not come through to Swift (core_dispatch.h, evp.h).
    private static let OSSL_KEYMGMT_SELECT_PRIVATE_KEY_PART: Int32 = 0x01
    private static let EVP_PKEY_PUBLIC_KEY_PARTS: Int32 = 0x02 | 0x04 | 0x80
}
