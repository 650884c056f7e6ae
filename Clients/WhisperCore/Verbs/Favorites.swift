import Contract
import WhisperClient

/// Parts that the verbs of favorites share.
private enum FavoriteParameters {
    static let id = TypedField.lowerCaseUUID("id", about: "Of a favorite.")
    static let known = TypedField.lowerCaseUUID(
        "id", about: "Of a favorite that is changed. Without it one is made."
    )
    .optional
    static let text = TypedField.text("text", 1...ProfileLimits.favoriteBytesMax)
    static let name = LiveParameters.name("name", about: "What it is called.")
    static let place = TypedField.integer("place", 0...1_000_000, about: "The least is shown first.").optional

    static let all = [Self.known.field, Self.name.field, Self.text.field, Self.place.field]

    static var isFull: CoreError {
        CoreError(.tooMany, "There are \(ProfileLimits.favoritesMax) favorites. Remove one first.")
    }
}

extension Verb {
    static let favoriteSet = Verb(
        "favorite_set", of: "profiles",
        about:
            "Keeps a text that is said often, on all devices of our profile. `tooLong`: it has more than \(ProfileLimits.favoriteBytesMax) bytes. `tooMany`: there are \(ProfileLimits.favoritesMax) others.",
        FavoriteParameters.all, type: "favorite",
        [Field("favorite", .object(Shapes.favorite))], errors: [.noIdentity, .tooLong, .tooMany, .store],
        samples: (
            #"{"name":"hello","text":"Hello, how are you?"}"#,
            #"{"type":"favorite","favorite":\#(Shapes.sampleFavorite)}"#
        ),
        .client { opened, parameters, json in
            let name = try parameters[FavoriteParameters.name]
            guard isName(name) else { throw CoreError(.invalidField, "has characters that no name has", field: "name") }
            let text = try parameters[FavoriteParameters.text]
            guard text.utf8.count <= ProfileLimits.favoriteBytesMax else { throw CoreError(.tooLong, field: "text") }
            let id = try parameters[FavoriteParameters.known] ?? .random()
            let place = try parameters[FavoriteParameters.place]
            let kept = try await opened.with { try $0.conversations.keep(id, name: name, text: text, place: place, $0) }
            guard let kept else { throw FavoriteParameters.isFull }
            json.add("favorite", object: kept) { Shapes.write(id, $0, &$1) }
        })

    static let favoriteRemove = Verb(
        "favorite_remove", of: "profiles", about: "Removes a favorite from all devices of our profile.",
        [FavoriteParameters.id.field], type: "favoriteRemoved", errors: [.noIdentity, .store],
        samples: (#"{"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#, #"{"type":"favoriteRemoved"}"#),
        .client { opened, parameters, _ in
            let id = try parameters[FavoriteParameters.id]
            try await opened.with { try $0.conversations.removeFavorite(id, $0) }
        })

    static let favoriteList = Verb(
        "favorite_list", of: "profiles", about: "Lists the favorites, by their places.", type: "favorites",
        [Field("favorites", .array(of: .object(Shapes.favorite), count: 0...ProfileLimits.favoritesKeptMax))],
        errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"favorites","favorites":[\#(Shapes.sampleFavorite)]}"#),
        .read { opened, _, json in
            let favorites = try opened.live.favorites().prefix(ProfileLimits.favoritesKeptMax)
            json.add("favorites", objects: favorites) { Shapes.write($0.id, $0.favorite, &$1) }
        })
}

extension Shapes {
    static let favorite = ObjectSchema([
        Field("id", .lowerCaseUUID), Field("name", .text(1...64)),
        Field("text", .text(1...ProfileLimits.favoriteBytesMax)),
        Field("place", .integer(0...Int64.max)),
    ])

    static func write(_ id: UUIDText, _ favorite: Favorite, _ json: inout JSONWriter) {
        json.add("id", id)
        json.add("name", favorite.name)
        json.add("text", favorite.text)
        json.add("place", favorite.place)
    }

    static let sampleFavorite =
        #"{"id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","name":"hello","text":"Hello, how are you?","place":0}"#
}
