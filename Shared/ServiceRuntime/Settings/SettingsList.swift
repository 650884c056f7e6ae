/// The output of the argument `settings`: a line for each setting of a service. Its columns, with tabs between:
/// variable, allowed values, default, meaning. `docs/settings.md` is made of these lines.
struct SettingsList {
    let text: String

    init(_ group: some SettingGroup) {
        self.text = Self.settings(in: group).map { $0.columns.joined(separator: "\t") + "\n" }.joined()
    }

    private static func settings(in group: any SettingGroup) -> [any ListedSetting] {
        Mirror(reflecting: group).children.flatMap { child -> [any ListedSetting] in
            if let inner = child.value as? any SettingGroup { return self.settings(in: inner) }
            return (child.value as? any ListedSetting).map { [$0] } ?? []
        }
    }
}

private protocol ListedSetting {
    var columns: [String] { get }
}

extension Setting: ListedSetting {
    var columns: [String] { [variable(self.key), self.parser.allowed, self.otherwise, self.meaning] }

    private var otherwise: String {
        switch self.absence {
        case .refused(let needed): "needed \(needed)"
        case .filled(let standard): standard.isEmpty ? "none" : standard
        case .left: "none"
        }
    }
}
