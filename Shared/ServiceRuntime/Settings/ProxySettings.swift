package import Contract

/// Whose word is taken for where a request comes from.
package struct ProxySettings: SettingGroup {
    let trusted = Setting(
        "trusted.proxies", .addresses, default: "",
        "Addresses whose `X-Forwarded-For` is believed: those of the balancers.")

    package init() {}
}

extension Settings<ProxySettings> {
    package func addresses() throws(SettingsError) -> Set<NetworkAddress> { try self.trusted }
}

extension SettingParser<Set<NetworkAddress>> {
    /// Addresses between commas, spaces around them ignored.
    fileprivate static var addresses: SettingParser {
        SettingParser("a list of IP addresses, with commas between") { text in
            let parts = text.split { $0 == "," || $0.isWhitespace }
            let addresses = parts.compactMap { NetworkAddress(String($0)) }
            return addresses.count == parts.count ? Set(addresses) : nil
        }
    }
}
