package import ClusterContract
import Contract

/// The proxies that may say where a request comes from.
package struct ProxySettings: SettingGroup {
    let trusted = Setting(
        "trusted.proxies", .addresses, default: "",
        "Addresses whose `X-Forwarded-For` is believed: those of the balancers. Ranges hold nothing but balancers.")

    package init() {}
}

extension Settings<ProxySettings> {
    package func addresses() throws(SettingsError) -> TrustedProxies { try self.trusted }
}

extension SettingParser<TrustedProxies> {
    /// Addresses and ranges between commas, spaces around them ignored.
    fileprivate static var addresses: SettingParser {
        SettingParser("a list of IP addresses and CIDR ranges, with commas between") { text in
            TrustedProxies(text.split { $0 == "," || $0.isWhitespace })
        }
    }
}
