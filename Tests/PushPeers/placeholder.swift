import CNghttp2
