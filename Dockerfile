# For those who have Docker or Podman; `make image` makes the same three trees and the same settings without either.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends mmdebstrap python3 python3-pip
WORKDIR /source
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY autoscaling autoscaling
COPY recommender recommender
COPY updater updater
COPY admission admission
COPY evenkeel evenkeel
COPY e2e/__init__.py e2e/
COPY e2e/cluster/__init__.py e2e/cluster/commands.py e2e/cluster/errors.py e2e/cluster/
COPY e2e/image e2e/image
RUN python3 -B -m e2e.image.trees /trees

FROM scratch
COPY --from=build /trees/base/ /
COPY --from=build /trees/dependencies/ /
COPY --from=build /trees/application/ /
ENV PATH=/usr/local/bin:/usr/bin
ENV PYTHONDONTWRITEBYTECODE=1
ENV PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="evenkeel"
LABEL org.opencontainers.image.description="A vertical pod autoscaler for Kubernetes built around in-place Pod resize"
LABEL org.opencontainers.image.version="0.1.0"
LABEL org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
WORKDIR /
