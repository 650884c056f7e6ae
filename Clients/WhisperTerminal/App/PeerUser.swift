import Glibc
import NIOCore

/// The user whose process holds the other end of a connection of this machine, as the kernel says (`sock_diag(7)`).
enum PeerUser {
    private static let requestBytes: UInt32 = 72
    private static let byFamily: UInt16 = 20
    /// `AF_NETLINK`, `NETLINK_SOCK_DIAG` and `NLM_F_REQUEST` of Linux.
    private static let (family, service, isRequest): (Int32, Int32, UInt16) = (16, 4, 1)
    /// Where the answer has the user id.
    private static let userOffset = 80

    /// - Returns: `nil` if the kernel does not say.
    static func of(_ channel: any Channel) -> uid_t? {
        guard let near = channel.localAddress, let far = channel.remoteAddress, let nearBytes = Self.bytes(of: near),
            let farBytes = Self.bytes(of: far), let nearPort = near.port, let farPort = far.port
        else { return nil }
        let family = nearBytes.count == 4 ? UInt8(AF_INET) : UInt8(AF_INET6)
        var request: [UInt8] = []
        Self.append(Self.requestBytes, to: &request)
        Self.append(Self.byFamily, to: &request)
        Self.append(Self.isRequest, to: &request)
        Self.append(UInt64(1), to: &request)
        request += [family, UInt8(IPPROTO_TCP), 0, 0]
        Self.append(UInt32.max, to: &request)
        // The socket asked for is the other end, to which our port is the far one.
        for port in [farPort, nearPort] { Self.append(UInt16(port).bigEndian, to: &request) }
        for address in [farBytes, nearBytes] { request += address + [UInt8](repeating: 0, count: 16 - address.count) }
        Self.append(UInt32(0), to: &request)
        Self.append(UInt64.max, to: &request)
        return Self.user(answering: request)
    }

    private static func user(answering request: [UInt8]) -> uid_t? {
        let descriptor = socket(Self.family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Self.service)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard send(descriptor, request, request.count, 0) == request.count else { return nil }
        var answer = [UInt8](repeating: 0, count: 512)
        // The kernel has answered when `send` returns.
        let count = recv(descriptor, &answer, answer.count, Int32(MSG_DONTWAIT))
        guard count >= Self.userOffset + 4 else { return nil }
        return answer.withUnsafeBytes { bytes in
            let type = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
            guard type == Self.byFamily else { return nil }
            return bytes.loadUnaligned(fromByteOffset: Self.userOffset, as: UInt32.self)
        }
    }

    private static func append<Number: FixedWidthInteger>(_ number: Number, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number) { bytes += $0 }
    }

    private static func bytes(of address: SocketAddress) -> [UInt8]? {
        switch address {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        case .unixDomainSocket: nil
        }
    }
}
