# The exchange and its clients in one image: the server is the entry point; loadgen, demo-bots and the rest are beside it.
#
#   docker build -t exchange .
#   docker run -p 127.0.0.1:12345:12345 -p 127.0.0.1:8080:8080 -v exchange:/data exchange
#
# See docs/docker.md. BuildKit is not needed.

ARG BUILD_IMAGE=debian:bookworm-slim
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
# No pinned versions: Debian's mirrors have the newest one of a release only, so a pinned one soon fails. Images may be pinned by digest.
# hadolint ignore=DL3008
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      cmake g++ libboost1.81-dev libcli11-dev libedit-dev libjs-chart.js libpq-dev libpqxx-dev libpugixml-dev libspdlog-dev libsqlite3-dev libssl-dev \
      libutf8proc-dev \
      ninja-build nlohmann-json3-dev pkg-config python3 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# Everything except the tests.
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXCHANGE_TESTS=OFF \
    && cmake --build build \
    # These two are in Python.
    && find build/bin -type f ! -name demo-bots ! -name exchange-class -exec strip {} +

FROM ${RUNTIME_IMAGE}
# hadolint ignore=DL3008
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      libedit2 libfmt9 libpqxx-6.4 libpugixml1v5 libspdlog1.10 libsqlite3-0 libssl3 libstdc++6 libutf8proc2 python3 \
    && rm -rf /var/lib/apt/lists/* \
    # Fixed numbers, so that a volume of one image can be read by the next.
    && groupadd --gid 10001 exchange \
    && useradd --uid 10001 --gid exchange --home-dir /data --no-create-home --shell /usr/sbin/nologin exchange \
    && install -d -o exchange -g exchange -m 0700 /data
COPY --from=build /src/build/bin/ /usr/local/bin/
COPY ops/docker/published-server /usr/local/bin/
USER 10001:10001
WORKDIR /data
VOLUME /data

# All addresses, on purpose: the container's network isolates it, and the published ports decide which clients reach it.
ENV EXCHANGE_BIND=0.0.0.0 \
    EXCHANGE_PORT=12345 \
    EXCHANGE_HTTP_PORT=8080 \
    EXCHANGE_STORE=sqlite:/data/exchange.db
EXPOSE 12345 8080
STOPSIGNAL SIGTERM
# Healthy: the server serves, or can take over as a standby. Bash speaks TCP, so no HTTP client is installed.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD ["bash", "-c", \
  "exec 3<>/dev/tcp/127.0.0.1/$EXCHANGE_HTTP_PORT && printf 'GET /readyz?standby HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["server"]
