/// Fields of bodies over HTTP that each request has (spec §3.1, §3.3).
enum Version {
    static let protocolVersion = 1
    static let cryptoVersion = 1
}
