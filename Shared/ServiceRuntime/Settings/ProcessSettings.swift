package import Logging

/// The settings of every process.
package struct ProcessSettings: SettingGroup {
    package let logLevel = Setting<Logger.Level>(
        "log.level", .choice, default: "notice", "The least important lines that are written.")

    /// `host` makes a number from the machine's name: a container that is one of many has a name of its own and nobody to
    /// number it. Two may get the same number, which costs nothing but clearness.
    package let instance = Setting(
        "instance", .instance, default: "1",
        "Number of this process among those of its service; it names log lines and database sessions.")

    package let ops = ListenerSettings("ops", "the listener for operators; never public")

    package init() {}
}

private let instances = 1...9_999

extension SettingParser<Int> {
    fileprivate static var instance: SettingParser {
        let number = SettingParser.integer(in: instances)
        return SettingParser("\(number.allowed), or `host`: made from the machine's name") { text in
            text == "host" ? instanceNumber(ofHost: HostName.current) : number.read(text)
        }
    }
}

/// FNV-1a (Fowler, Noll, Vo; 64 bits), folded into the range: the same name has the same number in every process.
func instanceNumber(ofHost name: String) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return instances.lowerBound + Int(hash % UInt64(instances.count))
}

/// Where something listens.
package struct ListenerSettings: SettingGroup {
    let host: Setting<String>
    let port: Setting<Int>

    /// - Parameter what: is listening, for the table.
    package init(_ name: String, _ what: String) {
        self.host = Setting("\(name).host", .text, default: "127.0.0.1", "Address of \(what).")
        self.port = Setting("\(name).port", .port, "Port of \(what).")
    }

    /// The listener that clients reach through the balancer.
    package static let publicHTTP = ListenerSettings("http", "the public listener")
}

extension Settings<ListenerSettings> {
    package func address() throws(SettingsError) -> ListenAddress {
        ListenAddress(host: try self.host, port: try self.port)
    }
}

/// Where a listener listens.
package struct ListenAddress: Sendable, Equatable {
    package var host: String
    /// 0 lets the kernel choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}
